package claude

import (
	"cmp"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/proc"
	"github.com/raymond-action/raymond-action/runner/internal/program"
)

// isComplete reports whether the model's answer is complete.
func (r *result) isComplete() bool {
	return r.Subtype == "success" && !r.IsError && !r.isCut() && !r.isRefusal()
}

// isCut reports whether the model's last response broke off. The CLI reports that as a success, with the
// stop reason of the response before it: an explicit null, or a tool use although text followed the
// tool's result. If the CLI's output contains no stop reason, the response is considered complete.
func (r *result) isCut() bool {
	reason := string(r.StopReason)
	return r.Subtype == "success" && (reason == "null" || reason == `"tool_use"` && r.hasText)
}

// isRefusal reports whether the model refused to answer.
func (r *result) isRefusal() bool { return string(r.StopReason) == `"refusal"` }

// failure returns the failure of the invocation. It returns nil if there is a complete answer. If
// raymond ended the process during a further turn, the earlier answer is still valid.
func (s *stream) failure(exit proc.Exit) *runner.Failure {
	last, o := s.costs.last, s.Order
	switch {
	case s.EarlyFailure != nil:
		return s.EarlyFailure
	case last != nil && last.isComplete():
		return nil
	case s.final != nil && exit.Ended != proc.ByItself:
		return nil
	case program.EndFailure(exit, o) != nil:
		return program.EndFailure(exit, o)
	case last != nil:
		text := last.Result
		if len(last.Errors) > 0 {
			text = strings.Join(last.Errors, "; ")
		}
		return s.api.classify(last, cmp.Or(program.OneLine(s.Display.Hide(text), 500), last.Subtype))
	case s.Records == 0 && strings.Contains(string(exit.StderrTail), "Input must be provided either through stdin"):
		// The CLI waits three seconds for the prompt. raymond always writes it immediately, so the machine
		// must have been stopped or very slow.
		return program.Transient("the agent CLI did not read its prompt in time: %s", program.DescribeExit(exit, o))
	case s.Records == 0 && exit.Code == 1 && refusesArguments().Match(exit.StderrTail):
		// The CLI rejects its arguments, and would reject them again in a retry.
		return program.Fatal("the agent CLI refuses to start: %s", program.DescribeExit(exit, o))
	}
	return program.Transient("no result record: the agent CLI ended with %s", program.DescribeExit(exit, o))
}

// refusesArguments matches the error that the CLI prints for invalid arguments.
var refusesArguments = text.Regexp(`(?im)^error: `)

// apiError describes the API errors that the CLI has reported.
type apiError struct {
	kind    string    // the error in the last message that the CLI itself wrote
	limited bool      // the usage limit of a subscription was reached
	reset   time.Time // when that limit ends; zero if unknown
}

// classify returns the failure for a result record that contains no complete answer. The fields of the
// record take precedence over its text. Not all fields are reliable: an API error, for example, has the
// subtype "success".
func (e apiError) classify(r *result, text string) *runner.Failure {
	switch {
	case r.Subtype == "error_max_budget_usd":
		return &runner.Failure{Class: runner.OverBudget, Continue: true, Message: "budget of the invocation exhausted: " + text}
	case r.Subtype == "error_max_turns":
		return &runner.Failure{Class: runner.Fatal, Continue: true, Message: "turn limit reached: " + text}
	case r.isRefusal():
		return program.Fatal("the model refused: %s", text)
	case r.Subtype == "success" && !r.IsError:
		return program.Transient("no complete answer: the stream broke off")
	}
	words := e.kind + " " + r.TerminalReason + " " + text
	// The usage limit of a subscription ends at a known time. A rate limit, which ends soon, is another error.
	isUsageLimit := strings.HasPrefix(text, "You've hit your") && strings.Contains(text, "limit") ||
		e.limited && (r.APIErrorStatus == 429 || e.kind == "rate_limit") && !strings.Contains(text, "not your usage limit")
	if runner.ClassifyFault(words, 0).Class != runner.Fatal && isUsageLimit {
		return &runner.Failure{Class: runner.UsageLimit, Reset: e.reset, Message: "usage limit: " + text}
	}
	return program.ReportedFailure(words, r.APIErrorStatus, text)
}

const (
	maxReasons = 1000 // maximum number of failed tool calls whose reason is stored
	// longestReason is the maximum length in bytes of a stored reason.
	longestReason = 8192
	maxDenied     = 100 // maximum number of denied tool calls in an answer
)

// reasons contains the CLI's explanations why tool calls failed, by the ids of the calls. Only the
// result record says which of these calls were denied.
type reasons map[string]string

// add stores the reason why a tool call failed.
func (r reasons) add(use, why string) {
	if use != "" && why != "" && len(r) < maxReasons {
		r[use] = why[:min(len(why), longestReason)]
	}
}

// maxRules is the maximum number of rules that are suggested for one command.
const maxRules = 8

// rulesFor returns plain rules that would allow a denied tool call. If the CLI lists several parts of a
// command that need approval, it returns a rule for each part. It returns nil if the call was denied for
// another reason than a missing rule.
func rulesFor(use denial, why string) []string {
	var input struct {
		Command string `json:"command"`
	}
	_ = json.Unmarshal(use.Input, &input, lenient) // if the input can't be decoded, the command is empty
	commands := []string{input.Command}
	_, parts, isOfParts := strings.Cut(why, " approval: ")
	switch {
	case isOfParts:
		commands = strings.Split(parts, ", ")
	case why == "", strings.HasPrefix(why, "This command requires approval"), strings.HasSuffix(why, "but you haven't granted it yet."),
		strings.Contains(why, "don't ask mode"):
	default:
		return nil
	}
	var rules []string
	for _, command := range commands[:min(len(commands), maxRules)] {
		rules = append(rules, program.PlainRule(use.Tool, command))
	}
	return rules
}
