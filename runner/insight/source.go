package insight

import (
	"iter"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
	"github.com/raymond-action/raymond-action/state/journal"
)

// Source contains the data from which a report is built.
type Source struct {
	Run      *state.Run // is not changed
	IsDriven bool       // a process is driving the run
	Next     string     // value of Report.Next
	// Events yields the events of the event log in order. Reading stops at the first error. Events
	// may be nil. Events that Run contains may be missing.
	Events iter.Seq2[state.Event, error]
	// History yields the steps of the run that are available. An error comes last. History may be
	// nil. It shows which conversations the executions used, and contains the answers to questions.
	History iter.Seq2[journal.Step, error]
	// Agents maps the name of an agent CLI to the transcripts of its conversations. If a CLI is
	// missing, its conversations are left out, and the report has a note about that.
	Agents map[string]Transcripts
	// Files maps the number of an execution to the files that it changed, with diffs of limited
	// size. It is nil if the run has no workspace snapshots.
	Files map[int]ChangedFiles
	// Hide masks secrets in a text. If it is nil, texts are not changed.
	Hide func(string) string
}

// Transcripts reads the conversations of one agent CLI. The method Read is described in
// runner.Transcripts.
type Transcripts interface {
	Read(c runner.Conversation, from, to int64, each func(runner.Message) error) error
}

// ChangedFiles are the files that changed during an execution.
type ChangedFiles struct {
	Files    []report.File
	IsShared bool // other agents used the directory at the same time
}

// Build collects the data of a report. It returns an error if the event log can't be read. If the
// history or a transcript can't be read, it notes that in Report.LeftOut.
func Build(s Source) (*Report, error) {
	if s.Hide == nil {
		s.Hide = func(text string) string { return text }
	}
	m, err := report.ModelOf(s.Run, s.Events, s.Hide)
	if err != nil {
		return nil, err
	}
	run := s.Run
	r := &Report{
		WorkflowID: run.WorkflowID, Status: string(run.Progress.Status), Reason: s.Hide(state.WithoutCode(run.Progress.Reason)),
		Scope: s.Hide(run.Scope), Entry: run.Entry, Meta: state.MapTexts(run.Meta, s.Hide), Created: run.Created, Finished: m.Now,
		Spent: report.Spent{Spent: run.Spent()}, InheritedUSD: run.InheritedUSD, BudgetUSD: run.Options.BudgetUSD, RerunOf: run.RerunOf,
		Next: s.Hide(s.Next), Waits: append([]report.Wait{}, m.Waits...), Limits: append([]report.Limit{}, m.Limits...), LeftOut: []string{},
	}
	switch {
	case run.Progress.Status == state.Running && !s.IsDriven:
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
	r.Costs.ByState, r.Costs.ByAgent, r.Costs.ByModel = m.Totals()
	for _, x := range r.Executions {
		r.Spent.Tokens = r.Spent.Plus(x.Spent).Tokens
	}
	known, err := readConversations(s, r.Waits)
	if err != nil {
		r.addOmission("The history of the run can't be read: %s", shorten(s.Hide(err.Error()), 300))
	}
	pot := limitSize(r)
	pot -= addFiles(r, s, pot/4)
	addMessages(r, s, known, pot)
	return r, nil
}
