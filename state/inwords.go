package state

import (
	"fmt"
	"slices"
	"strings"
)

// DescribeFailure returns why a state or an agent failed in words, where fault is one of the codes
// that events and state have. last is the verdict on its last attempt, nil for none.
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

// FailureText says in words what an attempt lacked; "" for one that is done.
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
		parts = append(parts, "it changed protected files, which were put back: "+strings.Join(n.Protected, ", "))
	}
	if len(parts) == 0 && n.Reason == reasonNoTag {
		return "the commands passed, but the final message had no allowed transition tag"
	}
	if len(parts) == 0 {
		return DescribeFailure(n.Reason, nil)
	}
	return strings.Join(parts, ", and ")
}

// reasonOf says which agent ended a run, and why: in words, and then the code that events have.
func reasonOf(a *Agent, fault string, last *NodeAttempt) string {
	text := fmt.Sprintf("agent %s in state %s: %s", a.ID, a.State, DescribeFailure(fault, last))
	if code, _, _ := strings.Cut(fault, ": "); slices.Contains(codes, code) {
		text += " (" + code + ")"
	}
	return text
}

// codes are those of the faults of agents.
var codes = []string{reasonExhausted, reasonProtected, reasonNoTag}

// WithoutCode returns the reason why a run ended without the code at its end.
func WithoutCode(reason string) string {
	for _, code := range codes {
		reason = strings.TrimSuffix(reason, " ("+code+")")
	}
	return reason
}

// FailureText says in words why an agent has failed; "" for one that has not.
func (a *Agent) FailureText() string {
	if a.Failure == nil {
		return ""
	}
	return DescribeFailure(a.Failure.Message, a.Exec.lastVerdict())
}

// lastVerdict is the verdict on the last attempt that failed; nil for none.
func (e *Exec) lastVerdict() *NodeAttempt {
	if e == nil {
		return nil
	}
	return e.Verdict
}

// IsExhausted reports whether a fault is that a state has no attempts left. The workflow
// decides whether its agent fails then.
func IsExhausted(fault string) bool { return fault == reasonExhausted }
