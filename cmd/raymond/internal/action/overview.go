package action

import (
	"errors"
	"fmt"
	"time"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/ask"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/internal/forge"
	"github.com/raymond-action/raymond-action/state"
)

// lastComment is how long the last text of the comment may take. What it can't have by then, the post part of the step
// writes.
const lastComment = 30 * time.Second

// comment is a reporter that shows the overview of the run in the comment. It never
// waits for the service.
type comment struct {
	poster *ask.StickyComment
	text   func() string // what it should say now; "" for nothing
	stale  bool
}

// wantsComment reports whether there is to be a comment, and says so where the
// event has no place for one.
func wantsComment(e job.Event, in job.Settings, log *jobLog) bool {
	if in.Comment != job.CommentSticky || len(in.Part) > 0 { // there is one comment, and many parts at once
		return false
	}
	if e.Number == 0 {
		log.notice("comment: sticky: the event " + e.Name + " has no issue or pull request to comment on")
	}
	return e.Number != 0
}

// startComment prepares the comment of a run; overview returns what it should say.
func startComment(s *step, overview func() string, how string) *comment {
	marker := ask.StickyMarker(s.event.Workflow, s.key, s.event.Kind, fmt.Sprint(s.event.Number))
	last := runLink(s.event, how)
	return &comment{
		poster: ask.StartStickyComment(s.api, s.event.Number, marker),
		text: func() string {
			text := overview()
			if text == "" {
				return ""
			}
			return ask.StickyBody(marker, s.log.shown(text), s.log.shown(last))
		},
	}
}

// runLink leads from the comment to the workflow run.
func runLink(e job.Event, how string) string {
	page := e.RunURL(e.RunID)
	if page == "" {
		return ""
	}
	if !e.IsGitea {
		page += fmt.Sprintf("/attempts/%d", e.Attempt)
	}
	return fmt.Sprintf("<sub>%s [workflow run %d](<%s>)</sub>", how, e.RunID, page)
}

// Report implements report.Reporter.
func (c *comment) Report(state.Event) error {
	c.stale = true
	return nil
}

// Next is told when the summary knows what can be done next.
func (c *comment) Next(string) error {
	c.stale = true
	return c.Tick(time.Time{})
}

// Tick is called about once a second.
func (c *comment) Tick(time.Time) error {
	if !c.stale {
		return nil
	}
	c.stale = false
	if text := c.text(); text != "" {
		c.poster.Update(text)
	}
	return nil
}

// Close implements report.Reporter. There may be more to say afterwards: the page's finish
// ends the comment.
func (c *comment) Close() error { return nil }

// commentRefused says why there is no comment, or not the last text in it.
func commentRefused(kind string, err error) string {
	e, ok := errors.AsType[*forge.Error](err)
	if !ok || e.Kind != forge.Denied && e.Kind != forge.Missing {
		return err.Error()
	}
	permission := "issues: write"
	if kind == job.KindPullRequest {
		permission = "pull-requests: write"
	}
	return err.Error() + "; give the job permissions: " + permission
}
