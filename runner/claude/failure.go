package claude

import (
	"strings"

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
		return s.api.classify(last, last.message(s.Display.Hide))
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
