package state

import (
	"cmp"
	"time"

	"github.com/raymond-action/raymond-action/protocol"
)

// Outcome is how one invocation ended. Exactly one of Failure, Problems and Decision says
// how the agent continues. In a state with done_when a Failure comes with one of the
// others, which is about the text that came before the failure.
type Outcome struct {
	Session string // as the agent CLI reported it; "" when it did not
	Model   string // that answered, as reported
	Cost    Cost
	// Used has the tokens that are not in Cost, at list prices where these are known: those
	// seen in the output, otherwise those in the transcript.
	Used     []ModelCost
	Turns    int       // of the model
	Refusals []Refusal // uses of tools that were refused
	Process  Process
	Script   ScriptOutput

	Failure  *Failure
	Problems []protocol.Problem // the message was not an allowed transition
	Reminder string             // the text to send for Problems
	Decision protocol.Decision

	// Hold is how long the agent may wait for the end of a usage limit; negative is
	// without end.
	Hold time.Duration
}

// Process is what is known about the process of an invocation.
type Process struct {
	CLI      string        // the name, the version and the path of the agent CLI; "" when it is not known, and for scripts
	CLIID    string        // the CLI's own id of the conversation, where that is not Outcome.Session; "" when it told none
	End      *int64        // length of the transcript of the conversation in bytes; nil when unknown
	Prepared time.Duration // how long the invocation waited for the agent CLI to be installed
	ExitCode int           // -1 when a signal ended it, or it never started
	Signal   string        // that ended it, such as "SIGKILL"; "" when it exited
}

// ScriptOutput is the output of a script, with secrets hidden.
type ScriptOutput struct {
	StdoutTail, StderrTail string // the last 4096 bytes of each
	TailLine               string // the end of both in one line, to follow a message; "" when there was no output
}

// End ends an invocation of an agent with its outcome, and decides what the agent does
// next. st is the state that the agent is in.
func (s *Step) End(id string, st *protocol.State, o Outcome) {
	if !ValidSession(o.Session) {
		o.Session = "" // a state file that names it could not be read
	}
	if !ValidSession(o.Process.CLIID) {
		o.Process.CLIID = ""
	}
	a := s.edit(id)
	x := s.execution(a, st)
	if st.Kind == protocol.Prompt {
		// Failed ones don't count as unknown: an agent CLI that dies can't report its cost, and retries limit how
		// often it may die.
		if s.charge(a, o) {
			a.UnknownCosts = 0
		} else if o.Failure == nil {
			a.UnknownCosts++
		}
		if f := o.Failure; f == nil || f.Class != Service && f.Class != Stopped { // the row of failures of the service is over
			a.Outage, x.progress().Suspensions = nil, 0
		}
	}
	a.Exec.Turns += o.Turns
	a.Exec.AgentCLI = cmp.Or(o.Process.CLI, a.Exec.AgentCLI)
	a.Exec.addRefusals(o.Refusals)
	a.Exec.leaveOut(o.Process.Prepared, s.now)
	x.end(o)
	x.failUnpriced()
}

// Verification has the results of the done_when commands of an attempt.
type Verification struct {
	Results []CommandResult // of each command, in order
	Changed []string        // protected files that were not what they had been; they are again
	Lost    []string        // those of them that could not be put back
	// Stopped says why the commands were cut off; they run again at a resume.
	Stopped string
}

// EndVerification ends the done_when commands of an agent's attempt with their results.
// It decides whether the state is done, and what the agent does next.
func (s *Step) EndVerification(id string, st *protocol.State, v Verification) {
	x := s.execution(s.edit(id), st)
	x.endVerification(v)
	x.failUnpriced()
}

// sessionAfter returns the conversation as it is after an invocation of it. entry is
// the one that the agent entered the state with.
func (e *Exec) sessionAfter(entry *Session, o Outcome) *Session {
	r, from := e.Running, entry
	next := Session{
		ID: cmp.Or(o.Session, r.SessionID), Backend: r.Backend, CLIID: cmp.Or(o.Process.CLIID, r.CLIID),
		Model: r.Model, Chosen: r.Model != "", RunningTotal: o.Cost.RunningTotal, End: o.Process.End,
	}
	if next.CLIID == "" && o.Session != "" && next.BackendName() != protocol.DefaultBackend {
		next.CLIID = next.ID // the CLI says that it is the same
	}
	if e.Session != nil {
		from = e.Session
	}
	if r.Mode != Fresh && from != nil {
		next.Model, next.Chosen = from.Model, next.Chosen || from.Chosen
	}
	if next.Model == "" && !next.Chosen { // a model that a state chose is not the conversation's first model
		next.Model = o.Model
	}
	return &next
}

// undoInvocation forgets the invocation under way: the next one cuts its transcript
// back.
func (e *Exec) undoInvocation() {
	if e.Running != nil && e.Running.Length != nil {
		e.Cut = e.Running.Length
	}
	e.Running = nil
}

// pause keeps the agent from continuing for the given time. Other agents run.
func (a *Agent) pause(now time.Time, wait time.Duration) {
	a.Status, a.NotBefore, a.Wait = Ready, now.Add(wait).UTC().Round(0), Duration(wait)
}
