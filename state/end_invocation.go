package state

import (
	"cmp"
	"time"

	"github.com/raymond-action/raymond-action/protocol"
)

// Outcome describes how one invocation ended. Exactly one of the fields Failure, Problems and Decision
// decides how the agent continues. In a state with done_when, a Failure may come together with
// Problems or a Decision, which describe the message before the failure.
type Outcome struct {
	Session string // id of the conversation, as the agent CLI reported it; "" if the CLI reported no id
	Model   string // name of the model that answered, as the agent CLI reported it
	Cost    Cost
	// Used contains the tokens that Cost does not include, with their list prices if known. They
	// were counted in the output or, if that was not possible, in the transcript.
	Used     []ModelCost
	Turns    int       // number of model turns
	Refusals []Refusal // tool calls that the agent CLI denied
	Process  Process
	Script   ScriptOutput

	Failure  *Failure
	Problems []protocol.Problem // why the message requests no allowed transition
	Reminder string             // the reminder to send if there are Problems
	Decision protocol.Decision

	// Hold is how long the agent may wait for the end of a usage limit. If it is negative, the wait
	// has no limit.
	Hold time.Duration
}

// Process describes the process of an invocation.
type Process struct {
	CLI      string        // name, version and path of the agent CLI; "" if unknown, and for scripts
	CLIID    string        // the CLI's own id of the conversation, if it differs from Outcome.Session; "" if the CLI reported no id
	End      *int64        // length of the transcript in bytes; nil if unknown
	Prepared time.Duration // how long the invocation waited for the agent CLI to be installed
	ExitCode int           // -1 if a signal ended the process, or it never started
	Signal   string        // the signal that ended the process, for example "SIGKILL"; "" if it exited
}

// ScriptOutput is the output of a script, with secrets masked.
type ScriptOutput struct {
	StdoutTail, StderrTail string // last 4096 bytes of each stream
	TailLine               string // end of both streams as one line, to append to a message; "" without output
}

// End records the outcome of an agent's invocation and decides how the agent continues. st is the
// agent's state.
func (s *Step) End(id string, st *protocol.State, o Outcome) {
	if !ValidSession(o.Session) {
		o.Session = "" // a state file with this id would be rejected
	}
	if !ValidSession(o.Process.CLIID) {
		o.Process.CLIID = ""
	}
	a := s.edit(id)
	if st.Kind == protocol.Prompt {
		// UnknownCosts does not count failed invocations: an agent CLI that crashes can't report its
		// cost, and MaxRetries limits how often the CLI may crash.
		if s.charge(a, o) {
			a.UnknownCosts = 0
		} else if o.Failure == nil {
			a.UnknownCosts++
		}
		if f := o.Failure; f == nil || f.Class != Service && f.Class != Stopped { // the service works again
			a.Outage, s.delta.Progress.Suspensions = nil, 0
		}
	}
	a.Exec.Turns += o.Turns
	a.Exec.AgentCLI = cmp.Or(o.Process.CLI, a.Exec.AgentCLI)
	a.Exec.addRefusals(o.Refusals)
	a.Exec.excludeTime(o.Process.Prepared, s.now)
	s.continueAgent(a, st, func(x *execution) { x.end(o) })
}

// Verification contains the results of the done_when commands of an attempt.
type Verification struct {
	Results []CommandResult // one for each command, in order
	Changed []string        // protected files that were changed; all except Lost have been restored
	Lost    []string        // files in Changed that could not be restored
	// Stopped is the reason why the commands were interrupted; a resume then runs them again. It is ""
	// if they were not interrupted.
	Stopped string
}

// EndVerification records the results of the done_when commands of an agent's attempt. It decides
// whether the state is done, and how the agent continues.
func (s *Step) EndVerification(id string, st *protocol.State, v Verification) {
	s.continueAgent(s.edit(id), st, func(x *execution) { x.endVerification(v) })
}

// sessionAfter returns the conversation after an invocation with the outcome o. entry is the
// conversation with which the agent entered the state, or nil.
func (e *Exec) sessionAfter(entry *Session, o Outcome) *Session {
	r, from := e.Running, entry
	next := Session{
		ID: cmp.Or(o.Session, r.SessionID), Backend: r.Backend, CLIID: cmp.Or(o.Process.CLIID, r.CLIID),
		Model: r.Model, Chosen: r.Model != "", RunningTotal: o.Cost.RunningTotal, End: o.Process.End,
	}
	if next.CLIID == "" && o.Session != "" && next.BackendName() != protocol.DefaultBackend {
		// The CLI reported no other id, so it uses ID itself.
		next.CLIID = next.ID
	}
	if e.Session != nil {
		from = e.Session
	}
	if r.Mode != Fresh && from != nil {
		next.Model, next.Chosen = from.Model, next.Chosen || from.Chosen
	}
	// If a state chose the model, o.Model is not the model with which the conversation began.
	if next.Model == "" && !next.Chosen {
		next.Model = o.Model
	}
	return &next
}

// undoInvocation drops the current invocation. Before the next invocation starts, the transcript is cut
// back to the length that it had before the dropped invocation.
func (e *Exec) undoInvocation() {
	if e.Running != nil && e.Running.Length != nil {
		e.Cut = e.Running.Length
	}
	e.Running = nil
}

// pause keeps the agent from continuing until wait has passed. Other agents are not affected.
func (a *Agent) pause(now time.Time, wait time.Duration) {
	a.Status, a.NotBefore, a.Wait = Ready, inUTC(now.Add(wait)), Duration(wait)
}
