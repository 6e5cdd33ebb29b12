package state

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/protocol"
)

// execution decides how one agent continues in its state after an invocation or the done_when commands
// have ended. It changes the agent and records events. It leaves a move to another state to its caller.
type execution struct {
	*recorder
	agent   *Agent // a copy that the step may change
	state   *protocol.State
	options *Options
	alive   int // number of agents that have not ended

	move *protocol.Decision // the move that ends the execution, if finish has allowed one
	exec int                // number of the execution that move ends
}

// maxUnknown is the maximum number of an agent's consecutive successful invocations with an unknown cost
// in a run that has a budget.
const maxUnknown = 3

// continueAgent lets decide decide how the agent continues in the state st, and then makes the move on
// which the decision depends. It fails an agent that would continue to cause unknown costs although the run
// has a budget. a must be a copy that the step may change.
func (s *Step) continueAgent(a *Agent, st *protocol.State, decide func(*execution)) {
	x := &execution{recorder: &s.recorder, agent: a, state: st, options: s.Options(), alive: count(s.Agents(), isAny)}
	decide(x)
	if x.move != nil {
		s.follow(a, *x.move, x.exec)
	}
	verifies := a.Exec != nil && a.Exec.Phase == PhaseVerify
	// The move that the last invocation requested has been made, so a resume continues after it.
	if a.UnknownCosts >= maxUnknown && x.options.HasBudget() && a.Status == Ready && !verifies {
		a.NotBefore, a.Wait = time.Time{}, 0
		x.fail(Fatal, fmt.Sprintf(
			"budget: the cost of the last %d invocations is unknown, so the budget can't be enforced; a budget of 0 means no limit", a.UnknownCosts), Outcome{})
	}
}

// end decides how the agent continues after an invocation.
func (x *execution) end(o Outcome) {
	e, script := x.agent.Exec, x.state.Kind == protocol.Script
	switch {
	case o.Failure != nil:
		x.endFailed(o)
	case len(o.Problems) > 0 && script:
		why, output := messages(o.Problems), o.Script.TailLine
		if hint := o.Problems[0].Hint; hint != "" {
			why += "; " + hint
		}
		if output == "" {
			output = "; the output is empty"
		}
		x.fail(Fatal, why+output, o)
	case x.state.Policy.Convergence != nil && (len(o.Problems) == 0 || e.PassedResults == nil):
		x.awaitVerdict(o)
	case x.state.Policy.Convergence != nil: // only an allowed move is missing
		e.Session = e.sessionAfter(x.agent.Session, o)
		e.recordProblems(o)
		x.askForMove()
	case len(o.Problems) > 0 && e.Reminders >= x.options.MaxReminders:
		x.fail(Fatal, fmt.Sprintf("%s (after %s)", messages(o.Problems), Count(e.Reminders, "reminder")), o)
	case len(o.Problems) > 0:
		e.Session = e.sessionAfter(x.agent.Session, o)
		x.sendReminder(o.Reminder, messages(o.Problems))
	case script:
		x.finish(o, nil)
	default:
		x.finish(o, e.sessionAfter(x.agent.Session, o))
	}
}

// sendReminder makes the agent's next invocation send the reminder, and emits a Reminder event.
func (x *execution) sendReminder(reminder, reason string) {
	e := x.agent.Exec
	e.Reminders++
	e.Reminder, e.Continue, e.Running = reminder, false, nil
	x.agent.Status = Ready
	x.emit(&Reminder{N: e.Reminders, Reason: reason})
}

// finish ends the execution with an allowed move. next is the conversation with which the agent continues;
// if it is nil, the agent keeps its current one. If the move exceeds a limit, the agent fails instead. It
// then keeps the conversation with which it entered the state, so that a resume can try again from there.
func (x *execution) finish(o Outcome, next *Session) {
	a := x.agent
	if limit, why := x.options.checkMove(o.Decision, x.alive, len(a.Stack)); limit != nil {
		x.emit(limit)
		x.fail(Fatal, why, o)
		return
	}
	x.emit(x.finished(o, ""))
	x.move, x.exec = &o.Decision, a.Exec.Iteration
	a.Exec, a.Failure, a.Model, a.Backend, a.Report, a.By = nil, nil, "", "", "", x.cause()
	if next != nil {
		a.Session, a.Branch = next, false
	}
}

// cause returns the value of Agent.By for the states that agents enter because of this execution.
func (x *execution) cause() string {
	if x.state.Kind == protocol.Script {
		return "script " + x.agent.State
	}
	return "agent " + x.agent.State
}

// fail makes the agent fail, so that it stops until the run is resumed, and emits the events about that.
func (x *execution) fail(class Class, why string, o Outcome) {
	a := x.agent
	a.Status, a.Failure = Stuck, &AgentFailure{Class: string(class), Message: why}
	if a.Exec != nil {
		x.emit(x.finished(o, why))
		a.Exec.Running = nil
	}
	x.emit(&AgentFinished{Error: why})
}

// finished returns the event for the end of the execution. why is the reason for a failure, or "" if the
// execution succeeded.
func (x *execution) finished(o Outcome, why string) *StateFinished {
	e := x.agent.Exec
	f := &StateFinished{
		OK: why == "", DurationMS: max(0, x.now.Sub(e.Started).Milliseconds()),
		Spent: e.Spent, Models: e.Models, Tokens: e.Tokens,
		Turns: e.Turns, Denied: []string{}, Refusals: e.explainedRefusals(), CLI: e.AgentCLI, Error: why,
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

// emit adds an event about the agent in its current state.
func (x *execution) emit(body Body) { x.recorder.emit(x.agent, body) }

// messages joins the problems' messages into one line.
func messages(problems []protocol.Problem) string {
	var texts []string
	for _, p := range problems {
		texts = append(texts, p.Message)
	}
	return strings.Join(texts, "; ")
}

// Refusal is a tool call that the agent CLI denied.
type Refusal struct {
	Use    string   `json:"use"`              // the tool call, as in StateFinished.Denied
	Reason string   `json:"reason,omitempty"` // the CLI's explanation
	Allow  []string `json:"allow,omitempty"`  // the simplest rules that could allow the call, untested; absent if no rule would help
}

// maxExplained is the maximum number of refusals in a state execution that are stored with details.
const maxExplained = 20

// addRefusals adds refusals to the execution. The details of a repeated tool call are stored only once, and
// details of at most maxExplained tool calls are stored.
func (e *Exec) addRefusals(all []Refusal) {
	for _, r := range all {
		explained := e.explainedRefusals()
		if len(explained) >= maxExplained || slices.ContainsFunc(explained, func(x Refusal) bool { return x.Use == r.Use }) {
			r = Refusal{Use: r.Use}
		}
		e.Refusals = append(e.Refusals, r)
	}
}

// explainedRefusals returns the stored refusals that have details.
func (e *Exec) explainedRefusals() (list []Refusal) {
	for _, r := range e.Refusals {
		if r.Reason != "" || r.Allow != nil {
			list = append(list, r)
		}
	}
	return list
}

// AllRefusals returns the denied tool calls, each of them once. Details are included if they are known.
func (b *StateFinished) AllRefusals() []Refusal {
	all := slices.Clone(b.Refusals)
	for _, use := range b.Denied {
		if !slices.ContainsFunc(all, func(r Refusal) bool { return r.Use == use }) {
			all = append(all, Refusal{Use: use})
		}
	}
	return all
}
