package state

import (
	"fmt"
	"time"

	"github.com/raymond-action/raymond-action/protocol"
)

// Outcome is what one invocation brought: exactly one of Failure, Problems and
// Decision says how it goes on. In a state with done_when a Failure goes with one of
// the others: what the text says that came before it.
type Outcome struct {
	Session string // as the agent CLI reported it; "" when it did not
	Model   string // that answered, as reported
	Cost    Cost
	// Used is what was used beyond what Cost says, at list prices where there are
	// any: what was seen going by, else what a transcript shows.
	Used     []ModelCost
	Turns    int
	Denied   []string
	Refusals []Refusal
	CLI      string        // version and path of the agent CLI
	Prepared time.Duration // that passed before the agent CLI was there
	ExitCode int
	Signal   string

	Failure  *Failure
	Problems []protocol.Problem // the message was no legal move
	Reminder string             // the text to send for Problems
	// Of a script: the ends of its outputs, and how they are quoted in an error.
	StdoutTail, StderrTail, LastWords string
	Decision                          protocol.Decision
}

// firstBackoff is the wait before the first retry; it doubles from there.
const firstBackoff = time.Second

// End takes in how an invocation ended, and decides what the agent does next.
func (s *Step) End(id string, st *protocol.State, o Outcome) {
	a := s.edit(id)
	e := a.Exec
	prompt := st.Kind == protocol.Prompt
	if !ValidSession(o.Session) {
		o.Session = "" // a state file that names it could not be read
	}
	if prompt {
		a.count(s.book(a, o), o.Failure)
		a.recover(o.Failure)
	}
	e.Turns += o.Turns
	e.Denied = append(e.Denied, o.Denied...)
	e.refuse(o.Refusals)
	e.prepared(s.now, o)
	switch {
	case o.Failure != nil:
		s.failed(a, st, o)
	case len(o.Problems) > 0 && !prompt:
		s.fail(a, Fault{Class: string(Fatal), Message: scriptFault(o)}, o)
	case st.Policy.Convergence != nil && (len(o.Problems) == 0 || e.Passed == nil):
		s.verify(a, o)
	case len(o.Problems) > 0:
		s.remind(a, st, o)
	default:
		var next *Session
		if prompt {
			next = e.settle(a.Session, o)
		}
		s.finish(a, o, next)
	}
	s.checkCosts(a)
}

// settle returns the conversation as it stands after an invocation of it.
func (e *Exec) settle(from *Session, o Outcome) *Session {
	r := e.Running
	next := Session{ID: r.SessionID, Model: r.Model, Chosen: r.Model != "", Reached: o.Cost.Reached}
	if o.Session != "" {
		next.ID = o.Session
	}
	if e.Session != nil {
		from = e.Session
	}
	if r.Mode != Fresh && from != nil {
		next.Model, next.Chosen = from.Model, next.Chosen || from.Chosen
	}
	if next.Model == "" {
		next.Model = o.Model
	}
	return &next
}

// failed takes in an invocation that brought no usable answer.
func (s *Step) failed(a *Agent, st *protocol.State, o Outcome) {
	e, f, prompt := a.Exec, *o.Failure, st.Kind == protocol.Prompt
	switch {
	case f.Class == Stopped:
		e.Interrupted = f.Message
		e.undo()
	case f.Class == UsageLimit:
		s.d.Progress.Hold, s.d.Progress.Until = f.Message, f.Reset
		a.Status = Ready
		e.undo()
		s.emit(a, &Limit{Which: "usage"})
	case f.Class == BudgetSpent:
		s.d.Progress.Exhausted = true
		a.Status = Ready
		s.carryOn(a, o)
	case prompt && s.outlast(a, &f):
	case prompt && s.retries(e, f.Class):
		s.retry(a, &f)
	case st.Policy.Convergence != nil && e.judgeable(&f, o):
		s.verify(a, o)
		e.settleFailed(&f, o)
	default:
		s.failForGood(a, f, o)
	}
}

// failForGood fails an agent whose invocation failed and is not tried again.
func (s *Step) failForGood(a *Agent, f Failure, o Outcome) {
	e := a.Exec
	prompt := e.Running != nil && e.Running.Mode != ""
	if f.Continue && prompt {
		s.carryOn(a, o)
	}
	if e.Passed != nil && f.Class != Service && f.Class != Fatal && f.Class != Machine {
		f.Message = reasonNoTag + ": " + f.Message
	}
	s.fail(a, Fault{Class: string(f.Class), Message: f.Message}, o)
}

// carryOn keeps the conversation of an invocation that ended before its work
// was done, so that the next one goes on in it.
func (s *Step) carryOn(a *Agent, o Outcome) {
	e := a.Exec
	e.Session = e.settle(a.Session, o)
	e.Continue, e.Running = true, nil
}

// retries reports whether a failed invocation is tried again, and counted.
func (s *Step) retries(e *Exec, c Class) bool {
	again := c == Transient || c == TimedOut || c == Service && s.Options().waitForService() == 0
	return again && e.Retries < s.Options().MaxRetries
}

func (s *Step) retry(a *Agent, f *Failure) {
	e := a.Exec
	wait := firstBackoff << min(e.Retries, 20)
	e.Retries++
	e.undo()
	s.pause(a, wait)
	s.emit(a, &Retry{N: e.Retries, Error: f.Message, BackoffMS: wait.Milliseconds()})
}

// pause keeps an agent from going on for the given time. Other agents run.
func (s *Step) pause(a *Agent, wait time.Duration) {
	a.Status, a.NotBefore, a.Wait = Ready, s.now.Add(wait).UTC().Round(0), Duration(wait)
}

// remind asks an agent again whose message was no legal move.
func (s *Step) remind(a *Agent, st *protocol.State, o Outcome) {
	e := a.Exec
	reason := sentence(o.Problems)
	if st.Policy.Convergence != nil {
		e.Session = e.settle(a.Session, o)
		e.lack(o)
		s.askAgain(a, st)
		return
	}
	if e.Reminders >= s.Options().MaxReminders {
		s.fail(a, Fault{Class: string(Fatal), Message: fmt.Sprintf("%s (after %s)", reason, Count(e.Reminders, "reminder"))}, o)
		return
	}
	e.Session = e.settle(a.Session, o)
	s.ask(a, o.Reminder, reason)
}

// ask sends a reminder next.
func (s *Step) ask(a *Agent, reminder, reason string) {
	e := a.Exec
	e.Reminders++
	e.Reminder, e.Continue, e.Running = reminder, false, nil
	a.Status = Ready
	s.emit(a, &Reminder{N: e.Reminders, Reason: reason})
}

// sentence words problems as one line.
func sentence(problems []protocol.Problem) string {
	text := ""
	for i, p := range problems {
		if i > 0 {
			text += "; "
		}
		text += p.Message
	}
	return text
}

// scriptFault words what was wrong with a script's output.
func scriptFault(o Outcome) string {
	if o.LastWords == "" {
		return sentence(o.Problems) + "; the output is empty"
	}
	return sentence(o.Problems) + o.LastWords
}

// fail stops an agent until somebody resumes the run.
func (s *Step) fail(a *Agent, f Fault, o Outcome) {
	a.Status, a.Fault = Stuck, &f
	if a.Exec != nil {
		s.emit(a, s.finished(a, o, f.Message))
		a.Exec.Running = nil
	}
	s.emit(a, &AgentFinished{Error: f.Message})
}

// finished is the event for the end of a's execution.
func (s *Step) finished(a *Agent, o Outcome, fault string) *StateFinished {
	e := a.Exec
	f := &StateFinished{
		OK: fault == "", DurationMS: max(0, s.now.Sub(e.Started).Milliseconds()),
		CostUSD: e.CostUSD, Estimated: e.Estimated, Unknown: e.Unknown, Models: e.Models,
		Turns: e.Turns, Denied: e.Denied, Refusals: e.Refusals, CLI: e.CLI, Error: fault,
		Iteration: e.Iteration, Attempt: e.Attempt, ExitCode: &o.ExitCode, Signal: o.Signal,
	}
	if fault != "" {
		f.StdoutTail, f.StderrTail = o.StdoutTail, o.StderrTail
	}
	if e.Running != nil && e.Running.Mode != "" {
		f.SessionID = e.Running.SessionID
		if o.Session != "" {
			f.SessionID = o.Session
		}
	} else if e.Session != nil {
		f.SessionID = e.Session.ID
	}
	return f
}

// finish applies a legal move. next is the conversation to go on in, nil when it
// stays what it was. A move that is over a limit is tried again from the session
// of the entry, and so must not replace it.
func (s *Step) finish(a *Agent, o Outcome, next *Session) {
	if f := s.overLimit(a, o.Decision); f != nil {
		s.fail(a, *f, o)
		return
	}
	s.emit(a, s.finished(a, o, ""))
	a.Exec, a.Fault, a.Model, a.Failure = nil, nil, "", ""
	if next != nil {
		a.Session, a.Branch = next, false
	}
	s.follow(a, o.Decision)
}

// overLimit says why a's decision asks for more than the run may have.
func (s *Step) overLimit(a *Agent, d protocol.Decision) *Fault {
	opt := s.Options()
	if want := s.living() + len(d.Spawns); len(d.Spawns) > 0 && want > opt.MaxAgents {
		s.emit(a, &Limit{Which: "agents", Value: float64(want), Max: float64(opt.MaxAgents)})
		return &Fault{Class: string(Fatal), Message: fmt.Sprintf(
			"the run would have %d agents at once, more than --max-agents %d", want, opt.MaxAgents)}
	}
	pushes := d.Then.Verb == protocol.Call || d.Then.Verb == protocol.Function
	if want := len(a.Stack) + 1; pushes && want > opt.MaxDepth {
		s.emit(a, &Limit{Which: "depth", Value: float64(want), Max: float64(opt.MaxDepth)})
		return &Fault{Class: string(Fatal), Message: fmt.Sprintf(
			"the return stack would be %d deep, more than --max-depth %d", want, opt.MaxDepth)}
	}
	return nil
}
