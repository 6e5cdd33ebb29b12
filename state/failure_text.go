package state

import (
	"fmt"
	"slices"
	"strings"
)

// DescribeFailure explains to users why a state or an agent failed. fault is the error in an event or in
// the state; it may begin with a code. last is the verdict on the last attempt, or nil.
func DescribeFailure(fault string, last *NodeAttempt) string {
	switch code, rest, _ := strings.Cut(fault, ": "); {
	case code == reasonExhausted && last != nil:
		return "not done after " + Count(last.Attempt, "attempt") + ": " + last.FailureText()
	case code == reasonExhausted:
		return "no attempts left"
	case code == reasonProtected:
		return "protected files were changed: " + rest
	case code == reasonNoTag && rest != "":
		return "the commands passed, but " + rest
	}
	return fault
}

// FailureText returns the reason why an attempt is not done. It returns "" if the attempt is done.
func (n *NodeAttempt) FailureText() string {
	var parts []string
	failed := slices.DeleteFunc(slices.Clone(n.Results), func(r CommandResult) bool { return r.RC == 0 })
	if len(failed) > 0 {
		cmd := strings.ReplaceAll(strings.Join(strings.Fields(failed[0].Cmd), " "), "`", "'")
		parts = append(parts, "`"+cmd+"` ended with exit code "+failed[0].code())
	}
	if more := len(failed) - 1; more > 0 {
		parts = append(parts, Count(more, "more command")+" failed")
	}
	if len(n.Protected) > 0 {
		parts = append(parts, "it changed protected files, which have been restored: "+strings.Join(n.Protected, ", "))
	}
	if len(parts) == 0 && n.Reason == reasonNoTag {
		return "the commands passed, but the final message had no allowed transition tag"
	}
	if len(parts) == 0 {
		return DescribeFailure(n.Reason, nil)
	}
	return strings.Join(parts, ", and ")
}

// reasonOf describes which agent ended the run and why. If fault has a code, the code follows in
// parentheses.
func reasonOf(a *Agent, fault string, last *NodeAttempt) string {
	text := fmt.Sprintf("agent %s in state %s: %s", a.ID, a.State, DescribeFailure(fault, last))
	if code, _, _ := strings.Cut(fault, ": "); slices.Contains(codes, code) {
		text += " (" + code + ")"
	}
	return text
}

// codes are the codes with which the errors in events can begin.
var codes = []string{reasonExhausted, reasonProtected, reasonNoTag}

// WithoutCode removes the code in parentheses from the end of a run's Reason.
func WithoutCode(reason string) string {
	for _, code := range codes {
		reason = strings.TrimSuffix(reason, " ("+code+")")
	}
	return reason
}

// FailureText returns the reason why the agent failed. It returns "" if the agent has not failed.
func (a *Agent) FailureText() string {
	if a.Failure == nil {
		return ""
	}
	return DescribeFailure(a.Failure.Message, a.Exec.lastVerdict())
}

// lastVerdict returns the verdict on the last failed attempt, or nil.
func (e *Exec) lastVerdict() *NodeAttempt {
	if e == nil {
		return nil
	}
	return e.Verdict
}

// IsExhausted reports whether fault is the error of an agent that failed because its state had no attempts
// left. The setting on_exhausted of the state decides whether the agent fails in this case.
func IsExhausted(fault string) bool { return fault == reasonExhausted }
