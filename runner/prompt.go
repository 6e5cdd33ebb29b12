package runner

import (
	"strconv"
	"strings"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/state"
)

// text returns the message for the agent: the state's own text, followed by reminders and notes. If
// the conversation already contains the state's text, a reminder takes its place.
func (x invocation) text() string {
	e := x.agent.Exec
	var text string
	switch {
	case e.Reminder != "" && x.isFresh() && e.PassedResults == nil:
		text = x.stateText() + "\n\n" + e.Reminder
	case e.Reminder != "" && x.isFresh():
		text = x.stateText() + "\n\nThe work of this step is done and its checks pass; do not do it again. " +
			"The run that did it ended before it named the next state.\n" + e.Reminder
	case e.Reminder != "":
		text = e.Reminder
	case e.Continue && x.isFresh():
		text = x.stateText() + "\n\nThe last run of this step ended early and may have left half-done work; check before repeating it."
	case e.Continue:
		text = "The last run of this step ended early, before its work was done. Check what is done already, " +
			"continue from there, and end with exactly one transition tag as the step asked."
	default:
		text = x.stateText()
	}
	if e.WasInterrupted {
		text += "\n\nNote: an earlier try of this step was interrupted and may have left half-done work; check before repeating it."
	}
	return text
}

// isFresh reports whether the text begins a conversation, so that it must be complete.
func (x invocation) isFresh() bool { return x.agent.Exec.Running.Mode == state.Fresh }

// stateText returns the text of the state. If the text begins with a slash, the agent CLI would run
// it as a command, so stateText puts a newline before it.
func (x invocation) stateText() string {
	text := x.attemptText()
	if strings.HasPrefix(text, "/") {
		return "\n" + text
	}
	return text
}

// attemptText returns the text of the state for this attempt. From the second attempt on, the text
// contains the report about the previous attempt, at its end if no template requests it elsewhere.
// If the attempt continues the conversation (attempt_context: continue), the text is only the report.
func (x invocation) attemptText() string {
	if x.agent.Exec.Attempt > 1 && x.state.Policy.Convergence.AttemptContext == "continue" && !x.isFresh() {
		return x.report()
	}
	hasReport := x.agent.Exec.Attempt <= 1
	text := protocol.Render(x.state.Body, func(name string) (string, bool) {
		hasReport = hasReport || name == "failure"
		return x.lookup(name)
	})
	if hasReport {
		return text
	}
	return text + "\n\n" + x.report()
}

// report returns the report about the previous attempt, or about another state whose attempts
// all failed.
func (x invocation) report() string {
	if c := x.state.Policy.Convergence; c != nil && x.agent.Exec.Verdict != nil {
		return x.agent.Exec.Verdict.Report(c.MaxAttempts)
	}
	return string(x.agent.Report)
}

// lookup returns the value of a template name. Built-in names take precedence over the agent's
// variables, and these take precedence over the run's metadata.
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
