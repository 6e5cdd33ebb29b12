package state

import (
	"fmt"
	"time"

	"github.com/raymond-action/raymond-action/protocol"
)

// execution decides how one agent continues in a state after something has ended:
// an invocation, or the commands of done_when.
type execution struct {
	step    *Step
	agent   *Agent // that the step may change
	state   *protocol.State
	options *Options
	now     time.Time
}

func (s *Step) execution(a *Agent, st *protocol.State) *execution {
	return &execution{step: s, agent: a, state: st, options: s.Options(), now: s.now}
}

// progress is that of the run, for the step to change.
func (x *execution) progress() *Progress { return &x.step.delta.Progress }

// end decides what the agent does after an invocation.
func (x *execution) end(o Outcome) {
	e, script := x.agent.Exec, x.state.Kind == protocol.Script
	switch {
	case o.Failure != nil:
		x.endFailed(o)
	case len(o.Problems) > 0 && script:
		x.fail(Fatal, scriptProblem(o), o)
	case x.state.Policy.Convergence != nil && (len(o.Problems) == 0 || e.PassedResults == nil):
		x.awaitVerdict(o)
	case len(o.Problems) > 0:
		x.remind(o)
	case script:
		x.finish(o, nil)
	default:
		x.finish(o, e.sessionAfter(x.agent.Session, o))
	}
}

// remind asks an agent again whose message was no legal move.
func (x *execution) remind(o Outcome) {
	e, reason := x.agent.Exec, messages(o.Problems)
	switch {
	case x.state.Policy.Convergence != nil:
		e.Session = e.sessionAfter(x.agent.Session, o)
		e.noteProblems(o)
		x.askForMove()
	case e.Reminders >= x.options.MaxReminders:
		x.fail(Fatal, fmt.Sprintf("%s (after %s)", reason, Count(e.Reminders, "reminder")), o)
	default:
		e.Session = e.sessionAfter(x.agent.Session, o)
		x.ask(o.Reminder, reason)
	}
}

// ask sends the agent a reminder in its next invocation.
func (x *execution) ask(reminder, reason string) {
	e := x.agent.Exec
	e.Reminders++
	e.Reminder, e.Continue, e.Running = reminder, false, nil
	x.agent.Status = Ready
	x.tell(&Reminder{N: e.Reminders, Reason: reason})
}

// finish ends the execution with a legal move. next is the session to continue, nil
// when it stays what it was. A move that exceeds a limit is tried again from the session
// of the entry, and so must not replace it.
func (x *execution) finish(o Outcome, next *Session) {
	a := x.agent
	alive := count(x.step.Agents(), isAny)
	if limit, why := x.options.checkMove(o.Decision, alive, len(a.Stack)); limit != nil {
		x.tell(limit)
		x.fail(Fatal, why, o)
		return
	}
	x.tell(x.finished(o, ""))
	exec := a.Exec.Iteration
	a.Exec, a.Failure, a.Model, a.Backend, a.Report, a.By = nil, nil, "", "", "", x.by()
	if next != nil {
		a.Session, a.Branch = next, false
	}
	x.step.follow(a, o.Decision, exec)
}

// by is who brings the agent to the states that follow.
func (x *execution) by() string {
	if x.state.Kind == protocol.Script {
		return "script " + x.agent.State
	}
	return "agent " + x.agent.State
}

// fail stops the agent until somebody resumes the run.
func (x *execution) fail(class Class, why string, o Outcome) {
	a := x.agent
	a.Status, a.Failure = Stuck, &AgentFailure{Class: string(class), Message: why}
	if a.Exec != nil {
		x.tell(x.finished(o, why))
		a.Exec.Running = nil
	}
	x.tell(&AgentFinished{Error: why})
}

// finished is the event for the end of the execution. why says why it failed, "" when
// it did not.
func (x *execution) finished(o Outcome, why string) *StateFinished {
	e := x.agent.Exec
	f := &StateFinished{
		OK: why == "", DurationMS: max(0, x.now.Sub(e.Started).Milliseconds()),
		Spent: e.Spent, Models: e.Models, Tokens: e.Tokens,
		Turns: e.Turns, Denied: []string{}, Refusals: e.explained(), CLI: e.AgentCLI, Error: why,
		Attempt: e.Attempt, ExitCode: &o.Process.ExitCode, Signal: o.Process.Signal,
	}
	for _, r := range e.Refusals {
		f.Denied = append(f.Denied, r.Use)
	}
	if why != "" {
		f.StdoutTail, f.StderrTail = o.Script.StdoutTail, o.Script.StderrTail
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

// maxUnknown is how many successful invocations of one agent in a row may have an
// unknown cost while there is a budget to keep.
const maxUnknown = 3

// failUnpriced fails an agent that would continue to spend an unknown amount although
// there is a budget. What its last invocation asked for has been done already, and a
// resume continues from there.
func (x *execution) failUnpriced() {
	a := x.agent
	verifies := a.Exec != nil && a.Exec.Phase == PhaseVerify
	if a.UnknownCosts >= maxUnknown && x.options.HasBudget() && a.Status == Ready && !verifies {
		a.NotBefore, a.Wait = time.Time{}, 0
		x.fail(Fatal, fmt.Sprintf(
			"budget: the cost of the last %d invocations can't be known, so it can't be kept; a budget of 0 means none", a.UnknownCosts), Outcome{})
	}
}

// tell adds an event about the agent, in the state where it is now.
func (x *execution) tell(body Body) { x.step.tell(x.agent, body) }

// messages joins problems to one line.
func messages(problems []protocol.Problem) string {
	text := ""
	for i, p := range problems {
		if i > 0 {
			text += "; "
		}
		text += p.Message
	}
	return text
}

// scriptProblem says what was wrong with a script's output, and what to do.
func scriptProblem(o Outcome) string {
	text := messages(o.Problems)
	if hint := o.Problems[0].Hint; hint != "" {
		text += "; " + hint
	}
	if o.Script.TailLine == "" {
		return text + "; the output is empty"
	}
	return text + o.Script.TailLine
}
