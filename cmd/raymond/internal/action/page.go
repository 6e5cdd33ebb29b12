package action

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/ask"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/internal/forge"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
)

// lastComment is the time limit for the last update of the comment. The post phase writes the
// comment if the main phase runs out of time.
const lastComment = 30 * time.Second

// comment is a reporter that shows the overview of the run in the sticky comment. It never waits
// for the service.
type comment struct {
	poster  *ask.StickyComment
	text    func() string // returns the text for the comment; "" for none
	isStale bool
}

// wantsComment reports whether the step maintains a comment. It adds a notice if the event has no
// issue or pull request for one.
func wantsComment(j *Job, log *jobLog) bool {
	if j.in.Comment != job.CommentSticky {
		return false
	}
	if j.event.Number == 0 {
		log.Notice("comment: sticky: the event " + j.event.Name + " has no issue or pull request to comment on")
	}
	return j.event.Number != 0
}

// newComment prepares the comment of a run. overview returns its text.
func newComment(j *Job, log *jobLog, overview func() string, how string) *comment {
	marker := ask.StickyMarker(j.event.Workflow, j.key.Name, j.event.Kind, fmt.Sprint(j.event.Number))
	last := runLink(j.event, how)
	return &comment{
		poster: ask.StartStickyComment(j.api, j.event.Number, marker),
		text: func() string {
			text := overview()
			if text == "" {
				return ""
			}
			return ask.StickyBody(marker, log.shown(text), log.shown(last))
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
	c.isStale = true
	return nil
}

// Next is called when the user's next steps are known.
func (c *comment) Next(string) error {
	c.isStale = true
	return c.Tick(time.Time{})
}

// Tick is called about once a second.
func (c *comment) Tick(time.Time) error {
	if !c.isStale {
		return nil
	}
	c.isStale = false
	if text := c.text(); text != "" {
		c.poster.Update(text)
	}
	return nil
}

// Close implements report.Reporter. It does nothing, because page.finish writes the last text
// afterwards.
func (c *comment) Close() error { return nil }

// commentWarning returns a warning about a comment that could not be written, with the reason.
func commentWarning(kind string, err error) string {
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

// page is what users read about a run: the step summary, and the comment with the same text.
type page struct {
	job     *Job
	s       *scratch
	summary *report.Summary
	comment *comment // nil for no comment
	isMute  bool     // the step summary can't be written
}

// openPage prepares the page of a run, with the user's next steps so far. The model learns the
// earlier segments of the run from its events, also those from other machines.
func openPage(j *Job, s *scratch, r *readyRun, events *report.Fanout, a advisor, c Conclusion) (*page, error) {
	if r.isResumed() {
		if err := events.Model.AddAll(report.Events(s.events(r.run.WorkflowID))); err != nil {
			return nil, err
		}
	}
	commenting := wantsComment(j, s.log)
	p := &page{job: j, s: s}
	p.summary = report.NewSummary(events.Model, report.SummaryOptions{
		Write: p.write, WorkflowID: r.run.WorkflowID, Workflow: r.workflow.Workflow, Next: a.nextSteps(c).Text,
		Differences: s.log.changes, Notes: s.log.notes, Site: j.event.RepositoryURL, JobContext: jobContext(j, a.jobFile),
	})
	events.Add("step summary", p.summary)
	if err := p.markPending(pendingPage); err != nil || !commenting {
		return p, err
	}
	how := "From"
	if r.isResumed() {
		how = "Resumed in"
	}
	p.comment = newComment(j, s.log, p.summary.Overview, how)
	events.Add("comment", p.comment)
	return p, nil
}

// write writes the step summary. A failure is only a warning, so that the comment is still updated.
func (p *page) write(text string) error {
	if p.isMute {
		return nil
	}
	if err := p.s.files.WriteSummary(p.s.log.shown(text)); err != nil {
		p.isMute = true
		p.s.log.Warn("step summary: " + err.Error())
	}
	return nil
}

// The parts of a page that may be unfinished.
const (
	pendingPage    = "page"
	pendingComment = "comment"
)

// markPending records for the post phase which part of the page is unfinished; "" for none.
func (p *page) markPending(what string) error {
	if p.s.note.get().Pending == what {
		return nil
	}
	return p.s.note.change(func(d *noteData) { d.Pending = what })
}

// addError adds a problem that no event of the run has reported to the summary.
func (p *page) addError(text string) {
	p.summary.SetError(p.s.log.shown(text)) // masked before it is cut
	_ = p.summary.Close()                   // write has logged a warning
}

// finish writes the last text of the comment. If there is too little time, the post phase repeats
// it. isFinal is set if there is no later phase.
func (p *page) finish(ctx context.Context, isFinal bool) {
	var err error
	if p.comment != nil {
		err = p.comment.poster.Finish(ctx, p.comment.text())
	}
	pending := ""
	if errors.Is(err, ask.ErrUnfinished) {
		pending = pendingComment
	}
	if err != nil && (isFinal || pending == "") {
		p.s.log.Warn(commentWarning(p.job.event.Kind, err))
	}
	_ = p.markPending(pending)
}

// finishPendingPage completes the page of a run whose main phase had no time to. The summary that the
// main phase has written stays, and only the missing text is added. isLate is true if the post
// phase had to end the main phase: then the runner read the summary before the end. A comment that
// can't be written is not an error.
func finishPendingPage(ctx context.Context, j *Job, s *scratch, c Conclusion, isLate bool) error {
	isNew, pending := c.byPost || isLate, s.note.get().Pending
	if !isNew && pending == "" {
		if c.report.Name != "" { // the summary of the main phase has no link to it
			return s.files.WriteSummary(report.LinkText(c.report, j.event.RepositoryURL))
		}
		return nil
	}
	p := &page{job: j, s: s}
	var err error
	if p.summary, err = summaryOf(j, s, c.run, c.next.Text); err != nil {
		return err
	}
	p.summary.SetReport(c.report)
	if isNew || pending == pendingPage {
		text := p.summary.Overview()
		if c.byPost && c.run.Progress.Status == state.Completed {
			text += "Stored as `" + c.receipt.Name + "` by the post part.\n"
		}
		err = s.files.WriteSummary(s.log.shown(text))
	}
	if wantsComment(j, s.log) {
		p.comment = newComment(j, s.log, p.summary.Overview, "From")
	}
	ctx, cancel := context.WithTimeout(ctx, lastComment)
	defer cancel()
	p.finish(ctx, true)
	return err
}

// summaryOf returns the summary of a run that has stopped or was killed. A killed main phase has
// not reported the end of the run, so this adds an event for it.
func summaryOf(j *Job, s *scratch, run *state.Run, next string) (*report.Summary, error) {
	known := report.NewLiveModel()
	if err := known.AddAll(report.Events(s.events(run.WorkflowID))); err != nil {
		return nil, err
	}
	if n := len(known.Segments); run.Progress.Status == state.Running && n > 0 {
		known.Add(state.Event{Time: known.Now, Body: &state.RunFinished{
			Status: state.Cancelled, Reason: "the step was killed before the run had stopped", Spent: run.Spent(), Unfinished: run.Unfinished(),
			Iterations: run.OwnExecutions(), DurationMS: known.Now.Sub(known.Segments[n-1].Started).Milliseconds(),
		}})
	}
	known.SetWaitDetails(report.WaitsOf(run))
	sum := report.NewSummary(known, report.SummaryOptions{
		Write: func(string) error { return nil }, WorkflowID: run.WorkflowID, Site: j.event.RepositoryURL, JobContext: jobContext(j, nil),
	})
	return sum, sum.Next(next)
}
