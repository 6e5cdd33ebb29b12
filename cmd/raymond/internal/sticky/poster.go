package sticky

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/internal/forge"
)

// API are the comments on one issue or pull request, as *job.Comments has them.
// Its errors are of type *forge.Error.
type API interface {
	List(context.Context) ([]job.Comment, error)
	Comment(ctx context.Context, id int64) (job.Comment, error)
	Create(ctx context.Context, body string) (job.Comment, error)
	Edit(ctx context.Context, id int64, body string) error
	Delete(ctx context.Context, id int64) error
	Self(context.Context) (login string, err error)
}

// Kept is what a later Poster for the same comment should know.
type Kept struct {
	ID    int64 `json:"id"`              // of the comment; 0 for none yet
	Doubt bool  `json:"doubt,omitempty"` // there may be one that nobody knows the id of
}

// Options say where a Poster posts.
type Options struct {
	API    API
	Marker string     // of Marker; each body begins with it
	Kept   Kept       // by an earlier Poster
	Keep   func(Kept) // told of changes, from another goroutine; may be nil
}

// Poster keeps a comment up to date, from a goroutine of its own. Its methods are
// for one goroutine.
type Poster struct {
	o    Options
	news chan news // the newest, not taken yet
	done chan struct{}
	stop context.CancelFunc

	// Of the goroutine, until done is closed:
	s    standing
	kept Kept
}

type news struct {
	body     string
	final    bool
	deadline time.Time
}

// Start returns a Poster that asks for nothing before there is something to
// show. It must be ended by Finish.
func Start(o Options) *Poster {
	ctx, stop := context.WithCancel(context.Background())
	p := &Poster{
		o: o, news: make(chan news, 1), done: make(chan struct{}), stop: stop, kept: o.Kept,
		s: standing{marker: o.Marker, known: o.Kept.ID, doubt: o.Kept.Doubt},
	}
	go p.run(ctx)
	return p
}

// Show has the comment say something else, soon: of several bodies before that
// the last one counts. It never waits.
func (p *Poster) Show(body string) { p.put(news{body: body}) }

// put replaces what was not taken yet. Nobody else puts, so there is room.
func (p *Poster) put(n news) {
	select {
	case <-p.news:
	default:
	}
	p.news <- n
}

// Unfinished is returned by Finish when time ran out: a later Poster can still
// write the body.
type Unfinished struct{ Err error } // Err: the last trouble, nil for none

// Error implements error.
func (e *Unfinished) Error() string {
	if e.Err == nil {
		return "there was no time to bring the comment up to date"
	}
	return "bring the comment up to date: " + e.Err.Error()
}

// Unwrap returns the last trouble.
func (e *Unfinished) Unwrap() error { return e.Err }

// Finish has the comment say its last, and waits until it does, as long as the
// context lives. An empty body leaves it as it is. An error that is no
// *Unfinished is one that no try can change.
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
	case p.s.over:
		return fmt.Errorf("comment: %w", p.s.trouble)
	case p.s.final && (p.s.want == "" || p.s.id != 0 && p.s.shown == p.s.want):
		return nil
	}
	return &Unfinished{p.s.trouble}
}

// run does what is next until nothing is left to do.
func (p *Poster) run(ctx context.Context) {
	defer close(p.done)
	for ctx.Err() == nil {
		select {
		case n := <-p.news:
			p.s.take(n)
		default:
		}
		switch what, at := p.s.next(time.Now()); what {
		case done:
			if p.s.final {
				return
			}
			p.wait(ctx, nil) // nothing more can be done: the last news ends it
		case rest:
			p.wait(ctx, nil)
		case pause:
			p.wait(ctx, time.After(time.Until(at)))
		default:
			p.do(ctx, what)
		}
	}
}

// wait waits for news, a time or the end.
func (p *Poster) wait(ctx context.Context, at <-chan time.Time) {
	select {
	case n := <-p.news:
		p.s.take(n)
	case <-at:
	case <-ctx.Done():
	}
}

// do asks the API for one thing and takes in what came of it.
func (p *Poster) do(ctx context.Context, what step) {
	if what == create {
		p.keep(Kept{Doubt: true}) // should nobody live to see the answer
	}
	if err := p.ask(ctx, what); err != nil {
		p.s.refused(what, err, time.Now())
	} else {
		p.s.went()
	}
	p.keep(Kept{ID: max(p.s.id, p.s.known), Doubt: p.s.doubt})
}

func (p *Poster) keep(k Kept) {
	if k == p.kept {
		return
	}
	if p.kept = k; p.o.Keep != nil {
		p.o.Keep(k)
	}
}

func (p *Poster) ask(ctx context.Context, what step) error {
	body := p.s.want
	switch what {
	case recall:
		c, err := p.o.API.Comment(ctx, p.s.known)
		if err == nil {
			err = p.learnSelf(ctx, c)
		}
		if err == nil {
			p.s.recalled(c)
		}
		return err
	case search, verify, review:
		return p.look(ctx, what)
	case create:
		c, err := p.o.API.Create(ctx, body)
		if err == nil {
			p.s.created(c, body, time.Now())
		}
		return err
	case edit:
		err := p.o.API.Edit(ctx, p.s.id, body)
		if err == nil {
			p.s.edited(body, time.Now())
		}
		return err
	}
	err := p.o.API.Delete(ctx, p.s.surplus[0])
	if err == nil {
		p.s.removed()
	}
	return err
}

// look looks at all comments.
func (p *Poster) look(ctx context.Context, what step) error {
	all, err := p.o.API.List(ctx)
	if err == nil {
		err = p.learnSelf(ctx, all...)
	}
	if err != nil {
		return err
	}
	p.s.found(all)
	if what == review {
		p.s.doubt = false
	}
	return nil
}

// learnSelf finds out who we are when there is a comment that may be ours. Where
// nobody says it, none is.
func (p *Poster) learnSelf(ctx context.Context, comments ...job.Comment) error {
	for _, c := range comments {
		if p.s.self != "" || !p.s.isMarked(c) {
			continue
		}
		login, err := p.o.API.Self(ctx)
		var e *forge.Error
		if errors.As(err, &e) && (e.Kind == forge.Unanswered || e.Kind == forge.Limited) {
			return err
		}
		p.s.self = login
		return nil
	}
	return nil
}
