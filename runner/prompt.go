package runner

import (
	"strconv"
	"strings"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/state"
)

// text is what the agent is sent. The state's own text comes before whatever we
// add to it.
func (x invocation) text() string {
	e := x.agent.Exec
	var text string
	switch {
	case e.Reminder != "" && x.isFresh() && e.PassedResults == nil:
		text = x.ofState() + "\n\n" + e.Reminder
	case e.Reminder != "" && x.isFresh():
		text = x.ofState() + "\n\nThe work of this step is done and its checks pass; do not do it again. " +
			"The run that did it ended before it named the next state.\n" + e.Reminder
	case e.Reminder != "":
		text = e.Reminder
	case e.Continue && x.isFresh():
		text = x.ofState() + "\n\nThe last run of this step ended early and may have left half-done work; check before repeating it."
	case e.Continue:
		text = "The last run of this step ended early, before its work was done. Check what is done already, " +
			"continue from there, and end with exactly one transition tag as the step asked."
	default:
		text = x.ofState()
	}
	if e.WasInterrupted {
		text += "\n\nNote: an earlier try of this step was interrupted and may have left half-done work; check before repeating it."
	}
	return text
}

// isFresh reports whether the text begins a conversation, so that it must say all there is
// to know.
func (x invocation) isFresh() bool { return x.agent.Exec.Running.Mode == state.Fresh }

// ofState is the state's own text. With a leading slash it would be a command of
// the agent CLI.
func (x invocation) ofState() string {
	text := x.ofAttempt()
	if strings.HasPrefix(text, "/") {
		return "\n" + text
	}
	return text
}

// ofAttempt is the text of a state. From the second attempt on, the report on the
// one before is in it or follows it.
func (x invocation) ofAttempt() string {
	if x.agent.Exec.Attempt > 1 && x.state.Policy.Convergence.AttemptContext == "continue" && !x.isFresh() {
		return x.report()
	}
	isTold := x.agent.Exec.Attempt <= 1
	text := protocol.Render(x.state.Body, func(name string) (string, bool) {
		isTold = isTold || name == "failure"
		return x.lookup(name)
	})
	if isTold {
		return text
	}
	return text + "\n\n" + x.report()
}

// report is the one on the attempt before, or on the state that gave up.
func (x invocation) report() string {
	if c := x.state.Policy.Convergence; c != nil && x.agent.Exec.Verdict != nil {
		return x.agent.Exec.Verdict.Report(c.MaxAttempts)
	}
	return string(x.agent.Report)
}

// lookup finds the value of a template name: the first that matches wins.
func (x invocation) lookup(name string) (string, bool) {
	switch name {
	case "workflow_id":
		return x.run.WorkflowID, true
	case "agent_id":
		return x.agent.ID, true
	case "state":
		return x.agent.State, true
	case "result", "input":
		return string(x.agent.Payload), true
	}
	c := x.state.Policy.Convergence
	switch {
	case name == "failure" && (c != nil || x.agent.Report != ""):
		return x.report(), true
	case name == "attempt" && c != nil:
		return strconv.Itoa(x.agent.Exec.Attempt), true
	case name == "max_attempts" && c != nil:
		return strconv.Itoa(c.MaxAttempts), true
	}
	if v, ok := x.agent.Vars[name]; ok {
		return v, true
	}
	v, ok := x.run.Meta[name]
	return v, ok
}
