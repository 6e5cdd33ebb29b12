package runner

import (
	"strconv"
	"strings"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/state"
)

// promptText is what the text of a prompt is made of.
type promptText struct {
	run   *state.Run
	agent *state.Agent
	state *protocol.State
}

// text is what the agent is sent. The state's own text comes before whatever we
// add to it.
func (p promptText) text() string {
	e := p.agent.Exec
	var text string
	switch {
	case e.Reminder != "" && p.isFresh() && e.Passed == nil:
		text = p.ofState() + "\n\n" + e.Reminder
	case e.Reminder != "" && p.isFresh():
		text = p.ofState() + "\n\nThe work of this step is done and its checks pass; do not do it again. " +
			"The run that did it ended before it named the next state.\n" + e.Reminder
	case e.Reminder != "":
		text = e.Reminder
	case e.Continue && p.isFresh():
		text = p.ofState() + "\n\nThe last run of this step ended early and may have left half-done work; check before repeating it."
	case e.Continue:
		text = "The last run of this step ended early, before its work was done. Check what is done already, " +
			"continue from there, and end with exactly one transition tag as the step asked."
	default:
		text = p.ofState()
	}
	if e.Noted {
		text += "\n\nNote: an earlier try of this step was interrupted and may have left half-done work; check before repeating it."
	}
	return text
}

// isFresh reports whether the text begins a conversation, so that it must say all there is
// to know.
func (p promptText) isFresh() bool { return p.agent.Exec.Running.Mode == state.Fresh }

// ofState is the state's own text. With a leading slash it would be a command of
// the agent CLI.
func (p promptText) ofState() string {
	text := p.ofAttempt()
	if strings.HasPrefix(text, "/") {
		return "\n" + text
	}
	return text
}

// ofAttempt is the text of a state. From the second attempt on, the report on the
// one before is in it or follows it.
func (p promptText) ofAttempt() string {
	if p.agent.Exec.Attempt > 1 && p.state.Policy.Convergence.AttemptContext == "continue" && !p.isFresh() {
		return p.report()
	}
	isTold := p.agent.Exec.Attempt <= 1
	text := protocol.Render(p.state.Body, func(name string) (string, bool) {
		isTold = isTold || name == "failure"
		return p.lookup(name)
	})
	if isTold {
		return text
	}
	return text + "\n\n" + p.report()
}

// report is the one on the attempt before, or on the state that gave up.
func (p promptText) report() string {
	if c := p.state.Policy.Convergence; c != nil && p.agent.Exec.Verdict != nil {
		return p.agent.Exec.Verdict.Report(c.MaxAttempts)
	}
	return string(p.agent.Report)
}

// lookup finds the value of a template name: the first that matches wins.
func (p promptText) lookup(name string) (string, bool) {
	switch name {
	case "workflow_id":
		return p.run.WorkflowID, true
	case "agent_id":
		return p.agent.ID, true
	case "state":
		return p.agent.State, true
	case "result", "input":
		return string(p.agent.Payload), true
	}
	if v, ok := p.lookupAttempt(name); ok {
		return v, true
	}
	if v, ok := p.agent.Vars[name]; ok {
		return v, true
	}
	v, ok := p.run.Meta[name]
	return v, ok
}

// lookupAttempt finds the template values that belong to attempts.
func (p promptText) lookupAttempt(name string) (string, bool) {
	c := p.state.Policy.Convergence
	switch {
	case name == "failure" && (c != nil || p.agent.Report != ""):
		return p.report(), true
	case name == "attempt" && c != nil:
		return strconv.Itoa(p.agent.Exec.Attempt), true
	case name == "max_attempts" && c != nil:
		return strconv.Itoa(c.MaxAttempts), true
	}
	return "", false
}
