package action

import (
	"time"

	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/artifacts/slots"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/session"
	"github.com/raymond-action/raymond-action/state"
)

// earlierRun is a run that is resumed, or shown again.
type earlierRun struct {
	run    *state.Run
	found  *slots.Found // nil: the run is in the state folder of this machine
	isOver bool         // it is completed, and only put back
	why    string       // what is different from what was, for people; "" for nothing
}

// factsOf is what the job itself has to do with whether a run is resumed.
func factsOf(s *step) slots.Facts {
	return slots.Facts{
		Mode: s.in.Resume, Attempt: s.event.Attempt, Number: s.event.Number, Now: time.Now(),
		ChangedWorkflow: s.in.ChangedWorkflow, ResumeWithoutTranscript: s.in.ResumeWithoutTranscript,
	}
}

// measure adds what the run itself has to do with whether it is resumed: its
// limits, which are those of the present inputs, and the files that it began with.
func measure(s *step, f *flow, facts *slots.Facts, run *state.Run) {
	now := s.options.Alone()
	facts.Budget, facts.MaxIterations = now.BudgetUSD, now.MaxIterations
	facts.Changed = session.ChangedFiles(run, f.Scope)
}

// decisionOn says what is done with a run that was found.
func decisionOn(s *step, m *checkpoint.Manifest, f slots.Facts) slots.Decision {
	if s.in.Rerun != "" {
		return slots.DecideRerun(m, f)
	}
	return slots.Decide(m, f)
}

// decide does what a decision on a run that was found says. It returns nil for a
// new run.
func decide(s *step, e *earlierRun, d slots.Decision, r *remarks) (*earlierRun, error) {
	switch d.Action {
	case slots.Refuse:
		return nil, &problem.Problem{Class: problem.Class(d.Class), Where: "input resume", What: d.Why, Hint: d.Hint}
	case slots.NewRun:
		tellNew(s, e, d, r)
		return nil, nil
	}
	e.isOver, e.why = d.Action == slots.Restore, d.Why
	return e, nil
}

// tellNew says why a new run starts though there was one before.
func tellNew(s *step, e *earlierRun, d slots.Decision, r *remarks) {
	if d.Why == "" {
		return
	}
	r.notes = append(r.notes, "A new run was started: "+d.Why+".")
	switch {
	case d.Warn:
		s.voice.warn("a new run starts: " + d.Why)
	case e.run == nil || e.run.Progress.Status != state.Completed: // after one that is completed it is no news
		s.voice.notice("a new run starts: " + d.Why)
	}
}
