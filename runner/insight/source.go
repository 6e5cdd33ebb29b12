package insight

import (
	"iter"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
)

// Source is what a report is made from.
type Source struct {
	Run      *state.Run // is not changed
	IsDriven bool       // a process drives the run at this moment
	Next     string     // as Report has it
	// Events yields the event log in order, up to its first error; nil for none. Events that
	// the run itself has may be missing.
	Events iter.Seq2[state.Event, error]
	// History yields the steps of the run as far as they are kept, up to the first error; nil
	// for none. It tells in which conversations executions spoke, and what was answered.
	History iter.Seq2[state.HistoryStep, error]
	// Agents are the agent CLIs by name, whose transcripts are read. The conversations of one
	// that is missing are left out, and that is said.
	Agents map[string]Transcripts
	// Files has what executions changed, by their numbers, with diffs that are bounded; nil where
	// there are no snapshots.
	Files map[int]ChangedFiles
	// Hide replaces secrets; nil leaves texts as they are.
	Hide func(string) string
}

// Transcripts are the conversations of one agent CLI, as runner.Agent has them.
type Transcripts interface {
	Read(c runner.Conversation, from, to int64, each func(runner.Message) error) error
}

// ChangedFiles are the files that an execution changed.
type ChangedFiles struct {
	Files    []report.File
	IsShared bool // other agents worked in the folder meanwhile
}

// Build gathers what is known of a run. A transcript or a snapshot that can't be read is
// named in Report.LeftOut; an event log that can't be read is an error.
func Build(s Source) (*Report, error) {
	if s.Hide == nil {
		s.Hide = func(text string) string { return text }
	}
	m, err := report.ModelOf(s.Run, s.Events, s.Hide)
	if err != nil {
		return nil, err
	}
	r := newReport(m, s)
	known, err := pastOf(s, r.Waits)
	if err != nil {
		r.leaveOut("The history of the run can't be read: %s", short(s.Hide(err.Error()), 300))
	}
	pot := bound(r)
	pot -= gatherFiles(r, s, pot/4)
	gatherMessages(r, s, known, pot)
	return r, nil
}

// newReport is what events and the state file tell.
func newReport(m *report.Model, s Source) *Report {
	run := s.Run
	r := &Report{
		WorkflowID: run.WorkflowID, Status: string(run.Progress.Status), Reason: s.Hide(state.WithoutCode(run.Progress.Reason)),
		Scope: s.Hide(run.Scope), Entry: run.Entry, Meta: state.MapTexts(run.Meta, s.Hide), Created: run.Created, Finished: m.Now,
		Spent: report.Spent{Spent: run.Spent()}, InheritedUSD: run.InheritedUSD, BudgetUSD: run.Options.BudgetUSD, RerunOf: run.RerunOf,
		Next: s.Hide(s.Next), Waits: append([]report.Wait{}, m.Waits...), Limits: append([]report.Limit{}, m.Limits...), LeftOut: []string{},
	}
	switch {
	case run.Progress.Status == state.Running && !s.IsDriven: // nobody drives it, and it has not ended
		r.Status = report.Interrupted
	case run.Progress.Status != state.Running && m.Ending != nil:
		r.Outcome = m.Ending.Outcome
	}
	if text, ok := run.Result(); ok {
		r.Result = s.Hide(string(text))
	}
	r.Executions = m.Rows(s.IsDriven)
	if !s.IsDriven {
		m.EndLostSegment(m.Now)
	}
	r.Segments = append([]report.Segment{}, m.Segments...)
	r.Agents = make([]report.Agent, len(m.Agents))
	for i, a := range m.Agents {
		r.Agents[i] = *a
	}
	r.Costs = Costs{ByAgent: m.ByAgent(), ByState: m.ByState(), ByModel: m.ByModel()}
	for _, x := range r.Executions {
		r.Spent.Tokens = report.PlusTokens(r.Spent.Tokens, x.Spent.Tokens)
	}
	return r
}
