package sticky

import (
	"context"
	"fmt"
	"time"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/internal/forge"
)

// API are the comments on one issue or pull request, as *job.Comments has them.
// Its errors are of type *forge.Error.
type API interface {
	List(context.Context) ([]job.Remark, error)
	Create(ctx context.Context, body string) (job.Remark, error)
	Edit(ctx context.Context, id int64, body string) error
	Delete(ctx context.Context, id int64) error
	Self(context.Context) (login string, err error)
}

// Options say where a Poster posts.
type Options struct {
	API    API
	Marker string // of Marker; each body begins with it
}

// Poster keeps a comment up to date, from a goroutine of its own. One goroutine at a
// time may call its methods.
type Poster struct {
	o    Options
	news chan news // the newest, not taken yet
	done chan struct{}
	stop context.CancelFunc

	t tracker // the goroutine's own, until done is closed
}

// news is what the comment should say.
type news struct {
	body     string
	final    bool      // it is the last text
	deadline time.Time // of the last text
}

// Start returns a Poster, which makes no request before there is something to show.
// The caller must end it with Finish.
func Start(o Options) *Poster {
	ctx, stop := context.WithCancel(context.Background())
	p := &Poster{o: o, news: make(chan news, 1), done: make(chan struct{}), stop: stop, t: tracker{comment: comment{marker: o.Marker}}}
	go p.run(ctx)
	return p
}

// Show makes the comment show another body soon. If there are several before the next
// edit, the last one counts. Show never waits.
func (p *Poster) Show(body string) { p.put(news{body: body}) }

// put replaces news that was not taken yet. Nobody else sends, so it never blocks.
func (p *Poster) put(n news) {
	select {
	case <-p.news:
	default:
	}
	p.news <- n
}

// Unfinished is the error of Finish when time ran out: a later Poster can still write
// the body.
type Unfinished struct{ Err error } // Err: the last error, nil for none

func (e *Unfinished) Error() string {
	if e.Err == nil {
		return "there was no time to bring the comment up to date"
	}
	return "bring the comment up to date: " + e.Err.Error()
}

// Unwrap returns the last error.
func (e *Unfinished) Unwrap() error { return e.Err }

// Finish gives the comment its last body, and waits until that is written or the context
// ends. An empty body leaves the comment as it is. The error is an *Unfinished unless
// another request could not help.
func (p *Poster) Finish(ctx context.Context, body string) error {
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = time.Now().Add(time.Hour)
	}
	p.put(news{body, true, deadline})
	select {
	case <-p.done:
	case <-ctx.Done():
	}
	p.stop()
	<-p.done // the API heeds the context
	switch {
	case p.t.failed:
		return fmt.Errorf("comment: %w", p.t.lastErr)
	case p.t.want.final && (p.t.want.body == "" || p.t.comment.id != 0 && p.t.comment.shown == p.t.want.body):
		return nil
	}
	return &Unfinished{p.t.lastErr}
}

// run does what is next, until nothing is left to do.
func (p *Poster) run(ctx context.Context) {
	defer close(p.done)
	for ctx.Err() == nil {
		select {
		case n := <-p.news:
			p.t.take(n)
		default:
		}
		switch what, at := p.t.next(time.Now()); what {
		case done:
			if p.t.want.final {
				return
			}
			p.wait(ctx, nil) // nothing more can be done: the last news ends it
		case idle:
			p.wait(ctx, nil)
		case pause:
			p.wait(ctx, time.After(time.Until(at)))
		default:
			if err := p.ask(ctx, what); err != nil {
				p.t.noteError(what, err, time.Now())
			} else {
				p.t.succeeded()
			}
		}
	}
}

// wait waits for news, a time or the end.
func (p *Poster) wait(ctx context.Context, at <-chan time.Time) {
	select {
	case n := <-p.news:
		p.t.take(n)
	case <-at:
	case <-ctx.Done():
	}
}

// ask makes one request.
func (p *Poster) ask(ctx context.Context, what action) error {
	body := p.t.want.body
	switch what {
	case look:
		return p.look(ctx)
	case create:
		c, err := p.o.API.Create(ctx, body)
		if err == nil {
			p.t.created(c, body, time.Now())
		}
		return err
	case edit:
		err := p.o.API.Edit(ctx, p.t.comment.id, body)
		if err == nil {
			p.t.edited(body, time.Now())
		}
		return err
	}
	err := p.o.API.Delete(ctx, p.t.comment.duplicates[0])
	if err == nil {
		p.t.comment.removed()
	}
	return err
}

// look looks at all comments.
func (p *Poster) look(ctx context.Context) error {
	all, err := p.o.API.List(ctx)
	if err == nil {
		err = p.learnSelf(ctx, all...)
	}
	if err != nil {
		return err
	}
	p.t.comment.found(all)
	p.t.comment.unsure = p.t.comment.unsure && !p.t.want.final // before the end it may still come
	return nil
}

// learnSelf asks for the account of the token if there is a comment that may be ours. If
// the service refuses to say it, no comment is taken as ours.
func (p *Poster) learnSelf(ctx context.Context, comments ...job.Remark) error {
	for _, c := range comments {
		if p.t.comment.self != "" || !p.t.comment.isMarked(c) {
			continue
		}
		login, err := p.o.API.Self(ctx)
		if forge.IsPassing(err) {
			return err
		}
		p.t.comment.self = login
		return nil
	}
	return nil
}
