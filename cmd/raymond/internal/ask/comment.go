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

// StickyMarker returns the invisible first line of a Comment. It is different for each
// identity, which is a list of texts.
func StickyMarker(identity ...string) string {
	h := sha256.New()
	for _, text := range identity {
		fmt.Fprintf(h, "%d:%s,", len(text), text)
	}
	return fmt.Sprintf("<!-- raymond-action %x -->", h.Sum(nil)[:16])
}

var commentMarked = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^<!-- raymond-action [0-9a-f]{32} -->`) })

// IsStickyComment reports whether a comment begins with a marker of any identity. Anybody can
// write such a comment.
func IsStickyComment(body string) bool { return commentMarked().MatchString(body) }

// maxBody bounds a comment, in bytes. GitHub accepts 65,536 characters.
const maxBody = 60_000

// StickyBody returns the text of a comment: the marker, what the comment says in Markdown, and
// a last line. If that is too long, only the first line of what it says remains.
func StickyBody(marker, says, last string) string {
	frame := len(marker) + len(last) + len("\n\n\n")
	if len(says)+frame > maxBody {
		says, _, _ = strings.Cut(says, "\n")
		says = text.Prefix(says, maxBody-frame)
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
	finalPause = 5 * time.Second // once Finish waits
	limitPause = time.Minute     // after a rate limit that does not say how long
)

// StickyComment is one comment on an issue or a pull request that is kept up to date, from a
// goroutine of its own: found again by its marker, created if there is none, edited in
// place. A second one that two steps or a lost answer have made is deleted. One goroutine
// at a time may call its methods.
type StickyComment struct {
	in     CommentAPI
	number int       // of the issue or pull request
	marker string    // each body begins with it
	news   chan news // the newest, not taken yet
	done   chan struct{}
	stop   context.CancelFunc

	// All below is the goroutine's own, until done is closed.
	want  news
	self  account
	id    int64  // 0 for none yet
	shown string // what it says
	// isSure says that all comments were looked at, and none was tried to be created since.
	isSure bool
	err    error // of the last attempt; nil for none
}

// news is what the comment should say.
type news struct {
	body  string
	final bool // it is the last text
}

// StartStickyComment returns a Comment on the issue or pull request of a number, which makes no
// request before there is something to show. The caller must end it with Finish.
func StartStickyComment(in CommentAPI, number int, marker string) *StickyComment {
	ctx, stop := context.WithCancel(context.Background())
	c := &StickyComment{in: in, number: number, marker: marker, news: make(chan news, 1), done: make(chan struct{}), stop: stop, self: account{of: in}}
	go c.run(ctx)
	return c
}

// Update makes the comment show another body soon. If there are several before the next
// edit, the last one counts. Show never waits.
func (c *StickyComment) Update(body string) { c.put(news{body: body}) }

// put replaces news that was not taken yet. Nobody else sends, so it never blocks.
func (c *StickyComment) put(n news) {
	select {
	case <-c.news:
	default:
	}
	c.news <- n
}

// ErrUnfinished is the error of Finish when time ran out: a later Comment can still write
// the body.
var ErrUnfinished = errors.New("there was no time to bring the comment up to date")

// Finish gives the comment its last body, and waits until that is written or the context
// ends. An empty body leaves the comment as it is. The error is ErrUnfinished unless
// another request could not help.
func (c *StickyComment) Finish(ctx context.Context, body string) error {
	c.put(news{body, true})
	select {
	case <-c.done:
	case <-ctx.Done():
	}
	c.stop()
	<-c.done // requests heed the context
	switch {
	case c.isRefused():
		return fmt.Errorf("comment: %w", c.err)
	case c.want.final && c.isCurrent():
		return nil
	case c.err != nil:
		return fmt.Errorf("%w: %w", ErrUnfinished, c.err)
	}
	return ErrUnfinished
}

// run brings the comment up to date whenever that is due, until the last text is shown or
// nothing more can be done.
func (c *StickyComment) run(ctx context.Context) {
	defer close(c.done)
	var began, limit, next time.Time // the first attempt, the end of a rate limit, the next attempt
	for !c.isRefused() && !(c.want.final && c.isCurrent()) {
		var due <-chan time.Time
		if !c.isCurrent() {
			due = time.After(time.Until(next))
		}
		select {
		case c.want = <-c.news:
			if c.want.final { // it waits for no pause, and what others have made meanwhile goes
				next, c.isSure = limit, false
			}
		case <-due:
			if began.IsZero() {
				began = time.Now()
			}
			c.err = c.bring(ctx)
			limit, next = c.pause(began)
		case <-ctx.Done():
			return
		}
	}
}

// pause returns until when the service wants to be left alone, and the time of the next attempt.
func (c *StickyComment) pause(began time.Time) (limit, next time.Time) {
	now := time.Now()
	next = now.Add(min(slowEvery, max(every, now.Sub(began)/slower)))
	if c.want.final {
		next = now.Add(finalPause)
	}
	var e *forge.Error
	if errors.As(c.err, &e) && e.Kind == forge.Limited {
		limit = now.Add(cmp.Or(max(e.Wait, 0), limitPause))
	}
	if next.Before(limit) {
		next = limit
	}
	return limit, next
}

// isRefused reports whether the service has said that another request is of no use.
func (c *StickyComment) isRefused() bool { return c.err != nil && !forge.IsTemporary(c.err) }

// isCurrent reports whether there is nothing to do.
func (c *StickyComment) isCurrent() bool {
	return c.want.body == "" || c.isSure && c.shown == c.want.body
}

// bring has the comment say what it should. After an error the next call goes on with what
// is still to be done.
func (c *StickyComment) bring(ctx context.Context) error {
	if !c.isSure {
		if err := c.look(ctx); err != nil {
			return err
		}
	}
	if c.id == 0 {
		c.isSure = false // also without an answer there may be one
		made, err := c.in.CreateComment(ctx, c.number, c.want.body)
		if err != nil {
			return err
		}
		c.id, c.shown = made.ID, c.want.body
		c.self.learn(made)
		if err := c.look(ctx); err != nil { // somebody else may have created one too
			return err
		}
	}
	if c.shown == c.want.body {
		return nil
	}
	err := c.in.EditComment(ctx, c.id, c.want.body)
	switch {
	case err == nil:
		c.shown = c.want.body
	case forge.IsMissing(err): // somebody has removed it: the next attempt creates another one
		c.id, c.shown, c.isSure, err = 0, "", false, nil
	}
	return err
}

// look looks for ours among all comments. If several are, the oldest one stays, so that two
// steps agree.
func (c *StickyComment) look(ctx context.Context) error {
	ours, err := c.in.ListIssueComments(ctx, c.number)
	if err == nil {
		ours, err = c.self.wrote(ctx, ours, c.marker)
	}
	if err != nil {
		return err
	}
	if c.id != 0 { // the list may lag behind
		ours = slices.Insert(ours, 0, job.Comment{ID: c.id, Body: c.shown})
	}
	slices.SortStableFunc(ours, func(a, b job.Comment) int { return cmp.Compare(a.ID, b.ID) })
	for i, r := range slices.CompactFunc(ours, func(a, b job.Comment) bool { return a.ID == b.ID }) {
		if i == 0 {
			c.id, c.shown = r.ID, r.Body
		} else if err := c.in.DeleteComment(ctx, r.ID); forge.IsTemporary(err) {
			return err
		}
	}
	c.isSure = true
	return nil
}
