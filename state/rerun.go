package state

import (
	"fmt"
	"maps"
	"time"
)

// RerunOf identifies the run from which a rerun was copied, and the execution with which it begins.
type RerunOf struct {
	WorkflowID string `json:"workflow_id"` // id of the other run
	// Exec is the first state execution that was run again. Executions with lower numbers belong to
	// the other run.
	Exec int `json:"exec"`
	// Trace is the trace id of the other run. It is "" if that run was not exported.
	Trace string `json:"trace,omitempty" is:"trace?"`
}

// RerunParams are the properties that a rerun does not copy from the original run.
type RerunParams struct {
	WorkflowID string
	Mark       string // a random text, as for a new run; see Run.Mark
	Now        time.Time
	// Files maps the file name of each state to the current SHA-256 of that file, in hex.
	Files map[string]string
}

// MissingStateError is returned if a run can't be repeated because its workflow no longer has a state
// that the run needs.
type MissingStateError struct {
	StateRef
}

// Error implements error.
func (e *MissingStateError) Error() string {
	return fmt.Sprintf("%s: the workflow no longer has a state %q", e.Field, e.State)
}

// Rerun returns a new run that begins as a copy of r, immediately before state execution n starts. r is
// the run after the step that started n, as journal.RunAtExecution returns it. Rerun does not change r,
// and the new run shares no memory with r.
//
// If the same step started executions with higher numbers, these start in the new run as well.
// Executions with lower numbers that were running are repeated, as after a crash. Results, return
// stacks, variables, waits and questions are copied; questions are posted again. New executions are
// numbered from n, but limits count only new executions. The cost of the new run begins at zero, and
// InheritedUSD contains the cost of r. The new run refers to the conversations of r; see
// TranscriptLength and RenameSession. All other fields, like Options, Meta and Scope, are copied,
// and the caller may change them.
//
// The error is a *MissingStateError if as.Files lacks a state that the run needs, or a *FileError if
// this program can't have written the run.
func Rerun(r *Run, n int, as RerunParams) (*Run, error) {
	next, err := r.Relocate(func(dir string) string { return dir })
	if err != nil {
		return nil, err
	}
	first := next.AgentAtExecution(n)
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
	idle := max(0, as.Now.Sub(first.Exec.Started)) // how long no process has driven the run
	for _, a := range next.Agents {
		if a.Waits != nil && a.Waits.Question != nil {
			a.Waits.Question.Token, a.Waits.Question.Comment = "", 0
		}
		a.UnknownCosts = 0
		e := a.Exec
		switch {
		case e == nil:
			continue
		case e.Iteration >= n: // this execution has not started in the new run
			a.Status, a.Cut, a.Exec = Ready, e.EntryLen, nil
			continue
		case a.Status == Busy:
			e.Interrupted = "it was under way when the run was run again from an earlier state"
			e.undoInvocation()
			a.Status = Ready
		}
		e.excludeTime(idle, as.Now)
		e.Inherited = true
		e.Spent, e.AttemptSpent, e.Models, e.Tokens = Spent{}, Spent{}, nil, nil
		next.Used = append(next.Used, a.State)
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

// AgentAtExecution returns the agent that is in state execution n, or nil.
func (r *Run) AgentAtExecution(n int) *Agent {
	for _, a := range r.Agents {
		if a.Exec != nil && a.Exec.Iteration == n {
			return a
		}
	}
	return nil
}

// inheritedExecutions returns the number of state executions that belong to the copied run. It is 0 if o
// is nil.
func (o *RerunOf) inheritedExecutions() int {
	if o == nil {
		return 0
	}
	return o.Exec - 1
}

// OwnExecutions returns the number of state executions that this run has started itself.
func (r *Run) OwnExecutions() int { return r.Progress.Iterations - r.RerunOf.inheritedExecutions() }
