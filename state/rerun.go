package state

import (
	"fmt"
	"maps"
	"time"
)

// RerunOf says that a run began as a copy of another one, as it was at an earlier step.
type RerunOf struct {
	WorkflowID string `json:"workflow_id"` // of the other run
	// Exec is the first state execution that was run again. The numbers before it are those
	// of the other run.
	Exec int `json:"exec"`
	// Trace is the id of the trace that the other run was exported as; "" if it was not.
	Trace string `json:"trace,omitempty" is:"trace?"`
}

// RerunParams is what a rerun has of its own.
type RerunParams struct {
	WorkflowID string
	Mark       string // random, as that of a new run
	Now        time.Time
	// Files has the SHA-256 of every state file as it is now, in hex.
	Files map[string]string
}

// MissingStateError says that a run can't be run again because the workflow lacks a state.
type MissingStateError struct {
	StateRef
}

// Error implements error.
func (e *MissingStateError) Error() string {
	return fmt.Sprintf("%s: the workflow has no state %q any more", e.Field, e.State)
}

// Rerun returns a new run that begins as r, with state execution n about to start. r is the run
// as it was after the step that started n, as Started returns it, and stays as it is.
//
// Executions with a higher number that the same step started are about to start, too. Those
// with a lower one that were under way are repeated as after a crash. Results, stacks,
// variables, waits and questions are those of r; questions are asked anew. Numbers of
// executions continue with n, while limits count only what the new run begins, and its costs
// begin with zero: what r had cost is in InheritedUSD. Conversations are still those of r: see
// LengthOf and RenameSession. All other fields, as Options, Meta and Scope, are those of r, for the caller to
// change: the run shares nothing with r.
//
// The error is a *NotThereError for a state that is needed and not among the files, and a
// *FileError for a run that this program can't have written.
func Rerun(r *Run, n int, as RerunParams) (*Run, error) {
	next, err := r.Relocate(func(dir string) string { return dir })
	if err != nil {
		return nil, err
	}
	first := next.started(n)
	if first == nil {
		return nil, fmt.Errorf("state execution %d did not start in step %d", n, r.Progress.Seq)
	}
	next.WorkflowID, next.Mark, next.Created = as.WorkflowID, as.Mark, stamp(as.Now)
	next.RerunOf = &RerunOf{WorkflowID: r.WorkflowID, Exec: n}
	if r.Trace != nil {
		next.RerunOf.Trace = r.Trace.ID
	}
	next.InheritedUSD = r.InheritedUSD.Plus(r.Progress.TotalUSD)
	next.Trace, next.Parts, next.Events, next.Ledger, next.Used = nil, nil, nil, nil, nil
	p := r.Progress
	next.Progress = Progress{
		Status: Running, Started: next.Created, Iterations: n - 1, LastBegun: first.N - 1,
		Created: p.Created, Questions: p.Questions, HasJoin: p.HasJoin,
	}
	idle := max(0, as.Now.Sub(first.Exec.Started))
	for _, a := range next.Agents {
		a.rewind(n, idle, as.Now)
		if a.Exec != nil {
			next.Used = append(next.Used, a.State)
		}
	}
	if as.Files != nil {
		next.Files = maps.Clone(as.Files)
	}
	for _, p := range append(next.StateRefs(), StateRef{"entry", next.Entry}) {
		if next.Files[p.State] == "" {
			return nil, &MissingStateError{p}
		}
	}
	return next, next.Validate()
}

// started returns the agent whose state execution n is under way; nil when there is none.
func (r *Run) started(n int) *Agent {
	for _, a := range r.Agents {
		if a.Exec != nil && a.Exec.Iteration == n {
			return a
		}
	}
	return nil
}

// before counts the state executions that are the other run's.
func (o *RerunOf) before() int {
	if o == nil {
		return 0
	}
	return o.Exec - 1
}

// OwnExecutions counts the state executions that the run has begun itself.
func (r *Run) OwnExecutions() int { return r.Progress.Iterations - r.RerunOf.before() }

// rewind makes an agent what it is when state execution n is about to start. Nobody has driven
// the run for the idle time.
func (a *Agent) rewind(n int, idle time.Duration, now time.Time) {
	if a.Waits != nil && a.Waits.Question != nil {
		a.Waits.Question.Token, a.Waits.Question.Comment = "", 0
	}
	a.UnknownCosts = 0
	e := a.Exec
	switch {
	case e == nil:
		return
	case e.Iteration >= n:
		a.Status, a.Cut, a.Exec = Ready, e.EntryLen, nil
		return
	case a.Status == Busy:
		e.Interrupted = "it was under way when the run was run again from an earlier state"
		e.undoInvocation()
		a.Status = Ready
	}
	e.leaveOut(idle, now)
	e.Inherited = true
	e.Spent, e.AttemptSpent, e.Models, e.Tokens = Spent{}, Spent{}, nil, nil
}
