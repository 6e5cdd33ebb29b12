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

// StickyMarker returns the invisible first line of a StickyComment. Different identities have different
// markers.
func StickyMarker(identity ...string) string {
	h := sha256.New()
	for _, text := range identity {
		fmt.Fprintf(h, "%d:%s,", len(text), text)
	}
	return fmt.Sprintf("<!-- raymond-action %x -->", h.Sum(nil)[:16])
}

var stickyPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^<!-- raymond-action [0-9a-f]{32} -->`) })

// IsStickyComment reports whether a comment begins with the marker of any identity. Anyone can write
// that marker.
func IsStickyComment(body string) bool { return stickyPattern().MatchString(body) }

// maxBody is the maximum length of a comment, in bytes. GitHub accepts 65,536 characters.
const maxBody = 60_000

// StickyBody returns the text of a comment: the marker, the content in Markdown, and a last line. If
// the result would be too long, it contains only the first line of the content.
func StickyBody(marker, says, last string) string {
	frame := len(marker) + len(last) + len("\n\n\n")
	if len(says)+frame > maxBody {
		says, _, _ = strings.Cut(says, "\n")
		says = text.Prefix(says, maxBody-frame)
	}
	return strings.ToValidUTF8(marker+"\n"+strings.Trim(says, "\n")+"\n\n"+last, "")
}

// The minimum times between two updates of a StickyComment. The longer a run takes, the rarer its
// updates, because all jobs of a repository share 1,000 requests an hour (GitHub's limit for
// GITHUB_TOKEN).
const (
	every     = 15 * time.Second
	slowEvery = 2 * time.Minute
	slower    = 40 // between every and slowEvery, a pause is the time since the first attempt, divided by slower
)

const (
	finalPause = 5 * time.Second // the pause while Finish waits
	limitPause = time.Minute     // the pause after a rate limit that names no time
)

// StickyComment keeps one comment on an issue or a pull request up to date, in a separate goroutine. It
// finds the comment by its marker and edits it, or creates a new comment. Two steps, or a
// request whose response got lost, may have created duplicates, which it deletes. Its methods must not
// be called concurrently.
type StickyComment struct {
	api     CommentAPI
	number  int         // the number of the issue or pull request
	marker  string      // what each body begins with
	updates chan update // contains the newest update until the goroutine receives it
	done    chan struct{}
	stop    context.CancelFunc

	// The goroutine owns the fields below until done is closed.
	want  update
	self  account
	id    int64  // 0 until the comment is found or created
	shown string // the current text of the comment
	// isSure is true if all comments were listed and no creation was attempted afterwards.
	isSure bool
	err    error // the error of the last attempt, or nil
}

// update is a text that the comment should show.
type update struct {
	body   string
	isLast bool // no other update follows
}

// StartStickyComment returns a StickyComment on an issue or a pull request and starts its goroutine.
// No request is made before the first Update or Finish. The caller must call Finish.
func StartStickyComment(in CommentAPI, number int, marker string) *StickyComment {
	ctx, stop := context.WithCancel(context.Background())
	c := &StickyComment{api: in, number: number, marker: marker, updates: make(chan update, 1), done: make(chan struct{}), stop: stop, self: account{api: in}}
	go c.run(ctx)
	return c
}

// Update makes the comment show another body soon. If there are several updates before the next edit,
// only the last one is used. Update never blocks.
func (c *StickyComment) Update(body string) { c.put(update{body: body}) }

// put passes an update to the goroutine. An update that the goroutine has not received yet is
// discarded. put is the only sender, so it never blocks.
func (c *StickyComment) put(n update) {
	select {
	case <-c.updates:
	default:
	}
	c.updates <- n
}

// ErrUnfinished is the error of Finish if ctx ended before the comment was written. A later
// StickyComment can still write the body.
var ErrUnfinished = errors.New("there was no time to update the comment")

// Finish gives the comment its last body, and waits until that is written or ctx ends. An empty body
// leaves the comment unchanged. The error wraps ErrUnfinished if a later request could still write
// the body.
func (c *StickyComment) Finish(ctx context.Context, body string) error {
	c.put(update{body, true})
	select {
	case <-c.done:
	case <-ctx.Done():
	}
	c.stop()
	<-c.done // stop has canceled the context of its requests
	switch {
	case c.isRefused():
		return fmt.Errorf("comment: %w", c.err)
	case c.want.isLast && c.isCurrent():
		return nil
	case c.err != nil:
		return fmt.Errorf("%w: %w", ErrUnfinished, c.err)
	}
	return ErrUnfinished
}

// run updates the comment whenever an update is due. It returns when the last text is shown, when the
// forge has rejected a request permanently, or when ctx ends.
func (c *StickyComment) run(ctx context.Context) {
	defer close(c.done)
	var began, limit, next time.Time // the first attempt, the end of a rate limit, the next attempt
	for !c.isRefused() && !(c.want.isLast && c.isCurrent()) {
		var due <-chan time.Time
		if !c.isCurrent() {
			due = time.After(time.Until(next))
		}
		select {
		case c.want = <-c.updates:
			if c.want.isLast { // skip the pause, and look for duplicates again
				next, c.isSure = limit, false
			}
		case <-due:
			if began.IsZero() {
				began = time.Now()
			}
			c.err = c.sync(ctx)
			limit, next = c.pause(began)
		case <-ctx.Done():
			return
		}
	}
}

// pause returns the end of a rate limit, and the time of the next attempt.
func (c *StickyComment) pause(began time.Time) (limit, next time.Time) {
	now := time.Now()
	next = now.Add(min(slowEvery, max(every, now.Sub(began)/slower)))
	if c.want.isLast {
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

// isRefused reports whether the forge has rejected a request in a way that makes another one useless.
func (c *StickyComment) isRefused() bool { return c.err != nil && !forge.IsTemporary(c.err) }

// isCurrent reports whether the comment shows the wanted text.
func (c *StickyComment) isCurrent() bool {
	return c.want.body == "" || c.isSure && c.shown == c.want.body
}

// sync makes the comment show the wanted text. After an error, the next call continues.
func (c *StickyComment) sync(ctx context.Context) error {
	if !c.isSure {
		if err := c.find(ctx); err != nil {
			return err
		}
	}
	if c.id == 0 {
		c.isSure = false // even without a response, a comment may have been created
		created, err := c.api.CreateComment(ctx, c.number, c.want.body)
		if err != nil {
			return err
		}
		c.id, c.shown = created.ID, c.want.body
		c.self.learn(created)
		if err := c.find(ctx); err != nil { // another step may have created one too
			return err
		}
	}
	if c.shown == c.want.body {
		return nil
	}
	err := c.api.EditComment(ctx, c.id, c.want.body)
	switch {
	case err == nil:
		c.shown = c.want.body
	case forge.IsMissing(err): // it was removed: the next attempt creates another one
		c.id, c.shown, c.isSure, err = 0, "", false, nil
	}
	return err
}

// find looks for our comments among all comments of the issue. It keeps the oldest one and deletes the
// others. Two steps that do this at the same time keep the same comment.
func (c *StickyComment) find(ctx context.Context) error {
	ours, err := c.api.ListIssueComments(ctx, c.number)
	if err == nil {
		ours, err = c.self.ownComments(ctx, ours, c.marker)
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
		} else if err := c.api.DeleteComment(ctx, r.ID); forge.IsTemporary(err) {
			return err
		}
	}
	c.isSure = true
	return nil
}
