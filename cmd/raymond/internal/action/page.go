package action

import (
	"context"
	"errors"
	"time"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/ask"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/session"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
)

// page is what people read of a run after it: the step summary, and the comment
// with the same words. A nil page is none.
type page struct {
	step    *step
	summary *report.Summary
	comment *comment // nil: there is none
	isMute  bool     // the step summary can't be written
	owed    owed
}

// owed is what a step has begun to show to people and not brought to its end. Its note has it, for the post part.
type owed struct {
	Summary bool `json:"summary,omitempty"`
	Comment bool `json:"comment,omitempty"`
}

// openPage prepares what people read after the run, which says what can be done with it by now; nil where nobody wants it. The
// model learns what other parts of the run, on other machines maybe, have done.
func openPage(s *step, e *ending, b *readyRun, events *report.Fanout) (*page, error) {
	if b.isResumed() {
		if err := events.Model.Learn(report.Events(s.dirs.events(b.run.WorkflowID))); err != nil {
			return nil, err
		}
	}
	commenting := wantsComment(s.event, s.in, s.log)
	if !s.in.Summary && !commenting {
		return nil, nil
	}
	p := &page{step: s, owed: owed{Summary: s.in.Summary, Comment: commenting}}
	p.summary = report.NewSummary(events.Model, report.SummaryOptions{
		Write: p.write, WorkflowID: b.run.WorkflowID, Workflow: b.flow.Workflow, Next: e.outlook(s, b.run).Text,
		Differences: s.log.differs, Notes: s.log.notes, Site: s.event.Site, Place: place(s.event, s.in, s.part(), e.jobFile),
	})
	events.Add("step summary", p.summary)
	if err := p.note(); err != nil || !commenting {
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

// write writes the step summary, if there is to be one. The comment is not to
// suffer when it can't be written.
func (p *page) write(text string) error {
	s := p.step
	if !s.in.Summary || p.isMute {
		return nil
	}
	err := s.files.WriteSummary(s.log.shown(text))
	if err == nil || p.comment == nil {
		return err
	}
	p.isMute = true
	s.log.warn("step summary: " + err.Error())
	return nil
}

// written notes that the summary has its last text.
func (p *page) written() {
	if p != nil {
		p.owed.Summary = false
		_ = p.note()
	}
}

// note keeps what is still owed. That is of use to nobody but the post part, which at worst does something again.
func (p *page) note() error {
	if p.owed == p.step.note.get().Owed {
		return nil
	}
	return p.step.note.change(func(d *noteData) { d.Owed = p.owed })
}

// addError has the summary say a problem that no event of the run has told.
func (p *page) addError(text string) {
	p.summary.SetError(p.step.log.shown(text)) // before it is cut
	if err := p.summary.Close(); err != nil {
		p.step.log.warn("step summary: " + err.Error())
	}
}

// finishComment has the comment say how the step ended. since says how long ago the
// step was asked to end, negative for not: then there is little time.
func (p *page) finishComment(since func() time.Duration) {
	if p.comment == nil {
		return
	}
	ctx, cancel := commentTime(since)
	defer cancel()
	err := p.comment.poster.Finish(ctx, p.comment.text())
	p.owed.Comment = errors.Is(err, ask.ErrUnfinished)
	if err != nil && !p.owed.Comment {
		p.step.log.warn(commentRefused(p.step.event.Kind, err))
	}
	_ = p.note()
}

// completeComment writes the last text of the comment in the post part. That it
// can't be written is no reason to fail.
func (p *page) completeComment(ctx context.Context) {
	if p == nil || !p.owed.Comment || !wantsComment(p.step.event, p.step.in, p.step.log) {
		return
	}
	c := startComment(p.step, p.summary.Overview, "From")
	ctx, cancel := context.WithTimeout(ctx, lastComment)
	defer cancel()
	if err := c.poster.Finish(ctx, c.text()); err != nil {
		p.step.log.warn(commentRefused(p.step.event.Kind, err))
	}
}

// leftPage is the page of a run whose main part was not left the time to end it:
// it says all that is known by now. It is nil when nothing is left to be shown.
// The summary of the main part stays as it was last written, and so there is only
// what it lacks. isLate says that the main part had to be ended: its page was read before.
func leftPage(s *step, e *ending, isLate bool) (*page, error) {
	byPost := e.kept.byPost || isLate
	p := &page{step: s, owed: s.note.get().Owed}
	if p.owed == (owed{}) && !byPost {
		return nil, linkLeft(s.in, s.files, s.event.Site, e.kept.report) // nothing else is owed
	}
	var err error
	if p.summary, err = summaryOf(s, e.run, e.next.Text); err != nil {
		return nil, err
	}
	p.summary.SetReport(e.kept.report)
	p.owed.Comment = p.owed.Comment || byPost
	if (p.owed.Summary || byPost) && s.in.Summary {
		text := p.summary.Overview()
		if e.kept.byPost && e.run.Progress.Status == state.Completed {
			text += "Stored as `" + e.kept.artifact + "` by the post part.\n"
		}
		err = s.files.WriteSummary(s.log.shown(text))
	}
	return p, err
}

// linkLeft adds to the page of the main part a link to the report that the post part has stored.
func linkLeft(in job.Settings, files *job.Files, site string, l report.Link) error {
	if l.Name == "" || !in.Summary {
		return nil
	}
	return files.WriteSummary(report.LinkText(l, site))
}

// summaryOf is the summary of a run that has stopped or was killed. Who is killed can't tell how the run ended, and no log
// has it: whoever resumes the run does so where it was.
func summaryOf(s *step, run *state.Run, next string) (*report.Summary, error) {
	if err := completeLog(s.dirs, s.log, run); err != nil {
		return nil, err
	}
	known := report.NewLiveModel()
	if err := known.Learn(report.Events(s.dirs.events(run.WorkflowID))); err != nil {
		return nil, err
	}
	if n := len(known.Parts); run.Progress.Status == state.Running && n > 0 {
		known.Add(state.Event{Time: known.Now, Body: &state.RunFinished{
			Status: state.Cancelled, Reason: "the step was killed before the run had stopped", Spent: run.Spent(), Unfinished: run.Unfinished(),
			Iterations: run.Begun(), DurationMS: known.Now.Sub(known.Parts[n-1].Started).Milliseconds(),
		}})
	}
	known.Know(report.WaitsOf(run))
	sum := report.NewSummary(known, report.SummaryOptions{
		Write: func(string) error { return nil }, WorkflowID: run.WorkflowID, Site: s.event.Site, Place: place(s.event, s.in, s.part(), nil),
	})
	return sum, sum.Next(next)
}

// completeLog adds the events that the main part saved and was not left the time
// to tell.
func completeLog(dirs folders, log *jobLog, run *state.Run) error {
	events, err := session.OpenLog(dirs.run(run.WorkflowID), run, log.shown, nil)
	if err != nil {
		return err
	}
	return events.Close()
}
