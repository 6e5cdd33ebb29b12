package ask

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/internal/forge"
)

// Comments are the comments on one issue or pull request, as *job.Comments has them.
// Its errors are of type *forge.Error.
type Comments interface {
	List(context.Context) ([]job.Remark, error)
	Create(ctx context.Context, body string) (job.Remark, error)
	Edit(ctx context.Context, id int64, body string) error
	Delete(ctx context.Context, id int64) error
	Self(context.Context) (login string, err error)
}

// CommentOptions say where a Comment posts.
type CommentOptions struct {
	Comments Comments
	Marker   string // of Marker; each body begins with it
}

// Comment keeps a comment up to date, from a goroutine of its own. One goroutine at a
// time may call its methods.
type Comment struct {
	o    CommentOptions
	news chan news // the newest, not taken yet
	done chan struct{}
	stop context.CancelFunc

	// All below is the goroutine's own, until done is closed.
	want news
	pace pace
	err  error // the last one; nil after a success
	// failed says that nothing more can be done.
	failed bool

	self      string // login of the account that writes our comments; "" for not known
	id        int64  // of the comment; 0 for none yet
	shown     string
	twins     []int64 // others of ours
	hasLooked bool    // at all comments, since a creation was tried
	isUnsure  bool    // a creation that failed may have made one
	isSecond  bool    // somebody has removed the comment before
}

// news is what the comment should say.
type news struct {
	body     string
	final    bool      // it is the last text
	deadline time.Time // of the last text
}

// Start returns a Comment, which makes no request before there is something to show.
// The caller must end it with Finish.
func StartComment(o CommentOptions) *Comment {
	ctx, stop := context.WithCancel(context.Background())
	p := &Comment{o: o, news: make(chan news, 1), done: make(chan struct{}), stop: stop}
	go p.run(ctx)
	return p
}

// Show makes the comment show another body soon. If there are several before the next
// edit, the last one counts. Show never waits.
func (p *Comment) Show(body string) { p.put(news{body: body}) }

// put replaces news that was not taken yet. Nobody else sends, so it never blocks.
func (p *Comment) put(n news) {
	select {
	case <-p.news:
	default:
	}
	p.news <- n
}

// Unfinished is the error of Finish when time ran out: a later Comment can still write
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
func (p *Comment) Finish(ctx context.Context, body string) error {
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
	<-p.done // the Comments heeds the context
	switch {
	case p.failed:
		return fmt.Errorf("comment: %w", p.err)
	case p.want.final && (p.want.body == "" || p.id != 0 && p.shown == p.want.body):
		return nil
	}
	return &Unfinished{p.err}
}

// run makes one request after the other, until the last text is shown or nothing more can
// be done. It need not wait for what would come after Finish's deadline.
func (p *Comment) run(ctx context.Context) {
	defer close(p.done)
	for ctx.Err() == nil {
		select {
		case n := <-p.news:
			p.take(n)
		default:
		}
		request, at := p.next(time.Now())
		wait := time.Until(at)
		switch {
		case p.want.final && (request == nil || wait > 0 && at.After(p.want.deadline)):
			return
		case request == nil:
			p.wait(ctx, nil)
		case wait > 0:
			p.wait(ctx, time.After(wait))
		default:
			p.note(request(ctx))
		}
	}
}

// wait waits for news, a time or the end.
func (p *Comment) wait(ctx context.Context, at <-chan time.Time) {
	select {
	case n := <-p.news:
		p.take(n)
	case <-at:
	case <-ctx.Done():
	}
}

// take notes what the comment should say from now on.
func (p *Comment) take(n news) {
	if p.want = n; n.final {
		p.pace.hurry()
	}
}

// next returns the next request, nil for none, and when it may be made.
func (p *Comment) next(now time.Time) (request func(context.Context) error, at time.Time) {
	at = p.pace.from
	switch {
	case p.failed || p.want.body == "":
		return nil, at
	case !p.hasLooked:
		return p.look, at
	case p.id == 0:
		return p.create, at
	case len(p.twins) > 0:
		return p.remove, at
	case p.shown != p.want.body && p.want.final:
		return p.edit, at
	case p.shown != p.want.body:
		if due := p.pace.nextEdit(now); due.After(at) {
			at = due
		}
		return p.edit, at
	case p.want.final && p.isUnsure:
		return p.look, at
	}
	return nil, at
}

// note notes what became of a request.
func (p *Comment) note(err error) {
	p.err = err
	p.failed = !p.pace.note(err, p.want.final)
}

// look looks for ours among all comments. Where that is refused, the one that is known has to do.
func (p *Comment) look(ctx context.Context) error {
	all, err := p.o.Comments.List(ctx)
	if err == nil {
		err = p.learnSelf(ctx, all)
	}
	if err != nil && (p.id == 0 || forge.IsPassing(err)) {
		return err
	}
	if err == nil {
		p.found(all)
	}
	p.hasLooked = true
	p.isUnsure = p.isUnsure && err == nil && !p.want.final // before the end it may still come
	return nil
}

// learnSelf asks for the account of the token if there is a comment that may be ours. If
// the service refuses to say it, no comment is taken as ours.
func (p *Comment) learnSelf(ctx context.Context, all []job.Remark) error {
	if p.self != "" || !slices.ContainsFunc(all, p.isMarked) {
		return nil
	}
	login, err := p.o.Comments.Self(ctx)
	if forge.IsPassing(err) {
		return err
	}
	p.self = login
	return nil
}

func (p *Comment) isMarked(c job.Remark) bool { return strings.HasPrefix(c.Body, p.o.Marker) }

// found notes our comments among all. Anybody can write the text of one, but not under our
// name. If several are ours, the oldest one stays, so that two Comments agree.
func (p *Comment) found(all []job.Remark) {
	ours := slices.DeleteFunc(slices.Clone(all), func(c job.Remark) bool {
		return c.ID == 0 || !p.isMarked(c) || p.self == "" || c.Author.Login != p.self
	})
	if p.id != 0 && !slices.ContainsFunc(ours, func(c job.Remark) bool { return c.ID == p.id }) {
		ours = append(ours, job.Remark{ID: p.id, Body: p.shown}) // the list may lag behind
	}
	slices.SortFunc(ours, func(a, b job.Remark) int { return cmp.Compare(a.ID, b.ID) })
	p.twins = nil
	for i, c := range ours {
		switch {
		case i > 0:
			p.twins = append(p.twins, c.ID)
		case c.ID != p.id:
			p.id, p.shown = c.ID, c.Body
		}
	}
}

// create makes the comment. Whatever comes of it, there may be one of another Comment too then.
func (p *Comment) create(ctx context.Context) error {
	p.hasLooked = false
	body := p.want.body
	c, err := p.o.Comments.Create(ctx, body)
	if err != nil {
		p.isUnsure = p.isUnsure || forge.IsPassing(err)
		return err
	}
	p.id, p.shown, p.pace.wrote = c.ID, body, time.Now()
	p.self = cmp.Or(c.Author.Login, p.self)
	return nil
}

// edit brings the comment up to date. One that somebody has removed is created again, once.
func (p *Comment) edit(ctx context.Context) error {
	body := p.want.body
	err := p.o.Comments.Edit(ctx, p.id, body)
	switch {
	case err == nil:
		p.shown, p.pace.wrote = body, time.Now()
	case forge.IsMissing(err) && !p.isSecond:
		p.id, p.hasLooked, p.isSecond = 0, false, true
		return nil
	}
	return err
}

// remove removes a twin, unless it is gone already or can't be removed.
func (p *Comment) remove(ctx context.Context) error {
	err := p.o.Comments.Delete(ctx, p.twins[0])
	if forge.IsPassing(err) {
		return err
	}
	p.twins = p.twins[1:]
	return nil
}
