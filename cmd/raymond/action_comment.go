package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path"
	"time"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sticky"
	"github.com/raymond-action/raymond-action/internal/forge"
	"github.com/raymond-action/raymond-action/state"
)

// commentFile keeps which comment is the run's. It lies with the logs, and so a
// later job gets it with the checkpoint.
const commentFile = "logs/comment.json"

// How long the last text of the comment may take, and until when after a signal;
// what it can't have by then, the post part of the step writes.
const (
	lastComment   = 30 * time.Second
	cancelComment = 6 * time.Second
)

// comment is a reporter that shows the run at a glance in the comment. It never
// waits for the service.
type comment struct {
	poster *sticky.Poster
	text   func() string // what it should say now; "" for nothing
	stale  bool
}

// wantsComment reports whether there is to be a comment, and says so where the
// event has no place for one.
func (x *action) wantsComment() bool {
	if x.in.Comment != job.CommentSticky {
		return false
	}
	if x.event.Number == 0 {
		x.log.Annotate(annotation("notice", "comment: sticky: the event "+x.event.Name+" has no issue or pull request to comment on"))
	}
	return x.event.Number != 0
}

// startComment prepares the comment of a run; glance is what it is to say.
func (x *action) startComment(id string, glance func() string, how string) (*comment, error) {
	api, err := x.api()
	if err != nil {
		return nil, err
	}
	file := x.fileOfRun(id, commentFile)
	var memory sticky.Memory
	if err := readNote(file, &memory); err != nil {
		memory = sticky.Memory{} // it is looked for instead
	}
	marker := sticky.Marker(x.workflowFile(), x.key, x.event.Kind, fmt.Sprint(x.event.Number))
	last := x.runLink(how)
	return &comment{
		poster: sticky.Start(sticky.Options{
			API: api.Comments(x.event.Number), Marker: marker, Memory: memory,
			Remember: func(m sticky.Memory) { _ = writeNote(file, m) }, // or else it is looked for
		}),
		text: func() string {
			text := glance()
			if text == "" {
				return ""
			}
			return sticky.Body(marker, x.shown(text), x.shown(last))
		},
	}, nil
}

// runLink leads from the comment to the workflow run.
func (x *action) runLink(how string) string {
	server, err := url.Parse(x.app.Getenv("GITHUB_SERVER_URL"))
	run, attempt := x.origin().RunID, x.event.Attempt
	if err != nil || server.Host == "" || server.Scheme != "https" && server.Scheme != "http" || run == 0 {
		return ""
	}
	page := server.JoinPath(path.Join(x.event.Repository.Name, "actions", "runs", fmt.Sprint(run)))
	if !x.event.Gitea {
		page = page.JoinPath("attempts", fmt.Sprint(attempt))
	}
	return fmt.Sprintf("<sub>%s [workflow run %d](<%s>)</sub>", how, run, page)
}

// Report implements report.Reporter.
func (c *comment) Report(e state.Event) error {
	c.stale = true
	switch e.Body.(type) {
	case *state.RunStarted, *state.RunFinished:
		c.show()
	}
	return nil
}

// Tick is called about once a second.
func (c *comment) Tick(time.Time) error { //nolint:unparam // package report wants it so
	c.show()
	return nil
}

// Next is told when the summary knows what can be done next.
func (c *comment) Next(string) error { //nolint:unparam // package report wants it so
	c.stale = true
	c.show()
	return nil
}

// Close implements report.Reporter. There may be more to say afterwards: finish
// ends the comment.
func (c *comment) Close() error {
	c.show()
	return nil
}

func (c *comment) show() {
	if !c.stale {
		return
	}
	c.stale = false
	if text := c.text(); text != "" {
		c.poster.Show(text)
	}
}

// finishComment has the comment say how the step ended.
func (x *action) finishComment() {
	if x.comment == nil {
		return
	}
	ctx, cancel := x.commentTime()
	defer cancel()
	err := x.comment.poster.Finish(ctx, x.comment.text())
	var unfinished *sticky.Unfinished
	if err != nil && !errors.As(err, &unfinished) {
		x.warn(x.commentRefused(err))
	}
	x.owed.Comment = errors.As(err, &unfinished)
	x.noteOwed()
}

// isToldByEvents reports whether the summary knows of a fault.
func (x *action) isToldByEvents(f *problem.Problem) bool {
	switch f.Class {
	case problem.ClassRunFailed, problem.ClassOverLimit, problem.ClassSuspended, problem.ClassCancelled:
		return x.run != nil
	case problem.ClassRuntime: // a machine that fails an agent
		return x.run != nil && x.run.Progress.Status == state.Failed
	}
	return false
}

// commentTime is the time that is left for the comment's last text. A signal may
// come while it is written.
func (x *action) commentTime() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.Background(), lastComment)
	if x.sinceSignal == nil {
		return ctx, cancel
	}
	go func() {
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for x.sinceSignal() < cancelComment {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
		cancel()
	}()
	return ctx, cancel
}

// commentRefused words why there is no comment, or not the last text in it.
func (x *action) commentRefused(err error) string {
	var e *forge.Error
	if !errors.As(err, &e) || e.Kind != forge.Denied && e.Kind != forge.Missing {
		return err.Error()
	}
	permission := "issues: write"
	if x.event.Kind == job.KindPullRequest {
		permission = "pull-requests: write"
	}
	return err.Error() + "; give the job permissions: " + permission
}
