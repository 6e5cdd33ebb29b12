package ask

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/internal/forge"
	"github.com/raymond-action/raymond-action/internal/untrusted/text"
)

// Marker returns the invisible first line of a Comment. It is different for each
// identity, which is a list of texts.
func Marker(identity ...string) string {
	h := sha256.New()
	for _, text := range identity {
		fmt.Fprintf(h, "%d:%s,", len(text), text)
	}
	return fmt.Sprintf("<!-- raymond-action %x -->", h.Sum(nil)[:16])
}

var commentMarked = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^<!-- raymond-action [0-9a-f]{32} -->`) })

// IsComment reports whether a comment begins with a marker of any identity. Anybody can
// write such a comment.
func IsComment(body string) bool { return commentMarked().MatchString(body) }

// maxBody bounds a comment, in bytes. GitHub accepts 65,536 characters.
const maxBody = 60_000

// Body returns the text of a comment: the marker, what the comment says in Markdown, and
// a last line. If that is too long, only the first line of what it says remains.
func Body(marker, says, last string) string {
	frame := len(marker) + len(last) + len("\n\n\n")
	if len(says)+frame > maxBody {
		says, _, _ = strings.Cut(says, "\n")
		says = text.Before(says, maxBody-frame)
	}
	return strings.ToValidUTF8(marker+"\n"+strings.Trim(says, "\n")+"\n\n"+last, "")
}

// How often a Comment is brought up to date: in a long run more rarely, since all jobs of a
// repository share 1,000 requests an hour (GitHub's limit for GITHUB_TOKEN).
const (
	every     = 15 * time.Second
	slowEvery = 2 * time.Minute
	slower    = 40 // pauses are at least this part of the time since the first one
)

const (
	finalPause = 5 * time.Second // after an error, once Finish waits
	limitPause = time.Minute     // after a rate limit that does not say how long
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

// Comment is one comment on an issue or a pull request that is kept up to date, from a
// goroutine of its own: found again by its marker, created if there is none, edited in
// place. A second one that two steps or a lost answer have made is deleted. One goroutine
// at a time may call its methods.
type Comment struct {
	in     Comments
	marker string    // each body begins with it
	news   chan news // the newest, not taken yet
	done   chan struct{}
	stop   context.CancelFunc

	// All below is the goroutine's own, until done is closed.
	want news
	pace pace
	err  error // of the last attempt; nil for none
	self account

	id        int64 // 0 for none yet
	shown     string
	hasLooked bool // at all comments, since a creation was tried
	isUnsure  bool // a creation without an answer may have made one that comes late
	isSecond  bool // somebody has removed the comment before
}

// news is what the comment should say.
type news struct {
	body     string
	final    bool      // it is the last text
	deadline time.Time // of the last text
}

// StartComment returns a Comment, which makes no request before there is something to show.
// The caller must end it with Finish.
func StartComment(in Comments, marker string) *Comment {
	ctx, stop := context.WithCancel(context.Background())
	c := &Comment{in: in, marker: marker, news: make(chan news, 1), done: make(chan struct{}), stop: stop, self: account{of: in}}
	go c.run(ctx)
	return c
}

// Show makes the comment show another body soon. If there are several before the next
// edit, the last one counts. Show never waits.
func (c *Comment) Show(body string) { c.put(news{body: body}) }

// put replaces news that was not taken yet. Nobody else sends, so it never blocks.
func (c *Comment) put(n news) {
	select {
	case <-c.news:
	default:
	}
	c.news <- n
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
func (c *Comment) Finish(ctx context.Context, body string) error {
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = time.Now().Add(time.Hour)
	}
	c.put(news{body, true, deadline})
	select {
	case <-c.done:
	case <-ctx.Done():
	}
	c.stop()
	<-c.done // requests heed the context
	switch {
	case c.pace.isOver:
		return fmt.Errorf("comment: %w", c.err)
	case c.want.final && (body == "" || c.id != 0 && c.shown == body):
		return nil
	}
	return &Unfinished{c.err}
}

// run brings the comment up to date whenever that is due, until the last text is shown or
// nothing more can be done. It need not wait for what would come after Finish's deadline.
func (c *Comment) run(ctx context.Context) {
	defer close(c.done)
	for ctx.Err() == nil {
		select {
		case n := <-c.news:
			c.take(n)
		default:
		}
		var due <-chan time.Time
		at := c.pace.next(time.Now(), c.want.final)
		isCurrent := c.isCurrent()
		switch {
		case c.want.final && (isCurrent || at.After(c.want.deadline)):
			return
		case !isCurrent:
			due = time.After(time.Until(at))
		}
		select {
		case n := <-c.news:
			c.take(n)
		case <-due:
			c.err = c.bring(ctx)
			c.pace.note(c.err, time.Now())
		case <-ctx.Done():
		}
	}
}

// take notes what the comment should say from now on. The last text waits for no pause.
func (c *Comment) take(n news) {
	c.want = n
	c.pace.failed = c.pace.failed && !n.final
}

// isCurrent reports whether there is nothing to do.
func (c *Comment) isCurrent() bool {
	if c.pace.isOver || c.want.body == "" {
		return true
	}
	return c.hasLooked && c.id != 0 && c.shown == c.want.body && !(c.want.final && c.isUnsure)
}

// bring has the comment say what it should. After an error the next call goes on with what
// is still to be done.
func (c *Comment) bring(ctx context.Context) error {
	if !c.hasLooked || c.want.final && c.isUnsure {
		if err := c.look(ctx); err != nil {
			return err
		}
	}
	if c.id == 0 {
		if err := c.create(ctx); err != nil {
			return err
		}
		if err := c.look(ctx); err != nil { // somebody else may have created one too
			return err
		}
	}
	if c.shown == c.want.body {
		return nil
	}
	return c.edit(ctx)
}

// look looks for ours among all comments. If several are, the oldest one stays, so that two
// steps agree. Where looking is refused, the one that is known has to do.
func (c *Comment) look(ctx context.Context) error {
	all, err := c.in.List(ctx)
	if err == nil {
		all, err = c.self.wrote(ctx, all, c.marker)
	}
	if err != nil && (c.id == 0 || forge.IsPassing(err)) {
		return err
	}
	for _, twin := range c.keepOldest(all) {
		if err := c.in.Delete(ctx, twin); forge.IsPassing(err) {
			return err
		}
	}
	c.hasLooked = true
	c.isUnsure = c.isUnsure && !c.want.final // before the end it may still come
	return nil
}

// keepOldest notes which one of our comments is the one, and returns the others.
func (c *Comment) keepOldest(ours []job.Remark) (twins []int64) {
	if c.id != 0 && !slices.ContainsFunc(ours, func(r job.Remark) bool { return r.ID == c.id }) {
		ours = append(ours, job.Remark{ID: c.id, Body: c.shown}) // the list may lag behind
	}
	slices.SortFunc(ours, func(a, b job.Remark) int { return cmp.Compare(a.ID, b.ID) })
	for i, r := range ours {
		switch {
		case i > 0:
			twins = append(twins, r.ID)
		case r.ID != c.id:
			c.id, c.shown = r.ID, r.Body
		}
	}
	return twins
}

func (c *Comment) create(ctx context.Context) error {
	c.hasLooked = false
	made, err := c.in.Create(ctx, c.want.body)
	if err != nil {
		c.isUnsure = c.isUnsure || forge.IsPassing(err)
		return err
	}
	c.id, c.shown = made.ID, c.want.body
	c.self.learn(made)
	return nil
}

// edit brings the comment up to date. One that somebody has removed is created again, once.
func (c *Comment) edit(ctx context.Context) error {
	err := c.in.Edit(ctx, c.id, c.want.body)
	switch {
	case err == nil:
		c.shown = c.want.body
	case forge.IsMissing(err) && !c.isSecond:
		c.id, c.hasLooked, c.isSecond = 0, false, true
		return c.bring(ctx)
	}
	return err
}

// pace decides when a comment may be brought up to date.
type pace struct {
	began  time.Time // the first time; zero for not yet
	tried  time.Time // the last time
	failed bool      // then
	limit  time.Time // the service wants to be left alone until then
	isOver bool      // nothing more can be done
}

// next returns the next time. The last text comes at once.
func (p *pace) next(now time.Time, isFinal bool) time.Time {
	at := p.limit
	switch {
	case p.tried.IsZero():
	case !isFinal:
		at = p.tried.Add(min(slowEvery, max(every, now.Sub(p.began)/slower)))
	case p.failed:
		at = p.tried.Add(finalPause)
	}
	if at.Before(p.limit) {
		return p.limit
	}
	return at
}

// note notes what came of it.
func (p *pace) note(err error, now time.Time) {
	if p.began.IsZero() {
		p.began = now
	}
	p.tried, p.failed = now, err != nil
	if err == nil {
		return
	}
	var e *forge.Error
	isLimited := errors.As(err, &e) && e.Kind == forge.Limited
	if isLimited {
		p.limit = now.Add(cmp.Or(max(e.Wait, 0), limitPause))
	}
	p.isOver = !isLimited && (e == nil || e.Kind != forge.Unanswered)
}
