package action

import (
	"context"
	"errors"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/ask"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
)

// page is what users read about a run: the step summary, and the comment with the same text.
type page struct {
	step    *step
	summary *report.Summary
	comment *comment // nil for no comment
	isMute  bool     // the step summary can't be written
}

// openPage prepares the page of a run, with the user's next steps so far. The model learns the
// earlier segments of the run from its events, also those from other machines.
func openPage(s *step, e *ending, b *readyRun, events *report.Fanout) (*page, error) {
	if b.isResumed() {
		if err := events.Model.AddAll(report.Events(s.dirs.events(b.run.WorkflowID))); err != nil {
			return nil, err
		}
	}
	commenting := wantsComment(s.event, s.in, s.log)
	p := &page{step: s}
	p.summary = report.NewSummary(events.Model, report.SummaryOptions{
		Write: p.write, WorkflowID: b.run.WorkflowID, Workflow: b.flow.Workflow, Next: e.outlook(s, b.run).Text,
		Differences: s.log.differs, Notes: s.log.notes, Site: s.event.RepositoryURL, JobContext: place(s.event, s.in, s.part(), e.jobFile),
	})
	events.Add("step summary", p.summary)
	if err := p.owe(owesPage); err != nil || !commenting {
		return p, err
	}
	how := "From"
	if b.isResumed() {
		how = "Resumed in"
	}
	p.comment = startComment(s, p.summary.Overview, how)
	events.Add("comment", p.comment)
	return p, nil
}

// write writes the step summary. A failure is only a warning, so that the comment
// is still updated.
func (p *page) write(text string) error {
	s := p.step
	if p.isMute {
		return nil
	}
	if err := s.files.WriteSummary(s.log.shown(text)); err != nil {
		p.isMute = true
		s.log.warn("step summary: " + err.Error())
	}
	return nil
}

// The parts of a page that may be unfinished.
const (
	owesPage    = "page"
	owesComment = "comment"
)

// owe records for the post phase which part of the page is unfinished; "" for none.
func (p *page) owe(what string) error {
	if p.step.note.get().Owed == what {
		return nil
	}
	return p.step.note.change(func(d *noteData) { d.Owed = what })
}

// addError adds a problem that no event of the run has reported to the summary.
func (p *page) addError(text string) {
	p.summary.SetError(p.step.log.shown(text)) // masked before it is cut
	_ = p.summary.Close()                      // write has logged a warning
}

// finish writes the last text of the comment. If there is too little time, the post phase repeats
// it.
func (p *page) finish(ctx context.Context) {
	var err error
	if p.comment != nil {
		err = p.comment.poster.Finish(ctx, p.comment.text())
	}
	owed := ""
	if errors.Is(err, ask.ErrUnfinished) {
		owed = owesComment
	}
	if err != nil && (p.step.isPost || owed == "") {
		p.step.log.warn(commentRefused(p.step.event.Kind, err))
	}
	_ = p.owe(owed)
}

// finishLeftPage completes the page of a run whose main phase had no time to. The summary that the
// main phase has written stays, and only the missing text is added. isLate is true if the post
// phase had to end the main phase: then the runner read the summary before the end. A comment that
// can't be written is not an error.
func finishLeftPage(ctx context.Context, s *step, e *ending, isLate bool) error {
	byPost, owed := e.kept.byPost || isLate, s.note.get().Owed
	if !byPost && owed == "" {
		if l := e.kept.report; l.Name != "" { // the summary of the main phase has no link to it
			return s.files.WriteSummary(report.LinkText(l, s.event.RepositoryURL))
		}
		return nil
	}
	p := &page{step: s}
	var err error
	if p.summary, err = summaryOf(s, e.run, e.next.Text); err != nil {
		return err
	}
	p.summary.SetReport(e.kept.report)
	if byPost || owed == owesPage {
		text := p.summary.Overview()
		if e.kept.byPost && e.run.Progress.Status == state.Completed {
			text += "Stored as `" + e.kept.artifact + "` by the post part.\n"
		}
		err = s.files.WriteSummary(s.log.shown(text))
	}
	if wantsComment(s.event, s.in, s.log) {
		p.comment = startComment(s, p.summary.Overview, "From")
	}
	ctx, cancel := context.WithTimeout(ctx, lastComment)
	defer cancel()
	p.finish(ctx)
	return err
}

// summaryOf returns the summary of a run that has stopped or was killed. A killed main phase has
// not reported the end of the run, so this adds an event for it.
func summaryOf(s *step, run *state.Run, next string) (*report.Summary, error) {
	known := report.NewLiveModel()
	if err := known.AddAll(report.Events(s.dirs.events(run.WorkflowID))); err != nil {
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
		Write: func(string) error { return nil }, WorkflowID: run.WorkflowID, Site: s.event.RepositoryURL, JobContext: place(s.event, s.in, s.part(), nil),
	})
	return sum, sum.Next(next)
}
