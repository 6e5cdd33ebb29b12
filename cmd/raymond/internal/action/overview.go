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

// lastComment is the time limit for the last update of the comment. The post phase writes the
// comment if the main phase runs out of time.
const lastComment = 30 * time.Second

// comment is a reporter that shows the overview of the run in the sticky comment. It never waits
// for the service.
type comment struct {
	poster *ask.StickyComment
	text   func() string // returns the text for the comment; "" for none
	stale  bool
}

// wantsComment reports whether the step maintains a comment. It adds a notice if the event has no
// issue or pull request for one.
func wantsComment(e job.Event, in job.Settings, log *jobLog) bool {
	if in.Comment != job.CommentSticky || len(in.Part) > 0 { // all parts of a matrix would write to the same comment
		return false
	}
	if e.Number == 0 {
		log.notice("comment: sticky: the event " + e.Name + " has no issue or pull request to comment on")
	}
	return e.Number != 0
}

// startComment prepares the comment of a run. overview returns its text.
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

// runLink returns a link to the workflow run, for the comment.
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

// Next is called when the user's next steps are known.
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

// Close implements report.Reporter. It does nothing, because page.finish writes the last text
// afterwards.
func (c *comment) Close() error { return nil }

// commentRefused returns a warning about a comment that could not be written, with the reason.
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
