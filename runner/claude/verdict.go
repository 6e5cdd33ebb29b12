package claude

import (
	"strings"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/proc"
	"github.com/raymond-action/raymond-action/runner/internal/program"
)

// isGood reports whether the model's answer is complete.
func (r *result) isGood() bool {
	return r.Subtype == "success" && !r.IsError && !r.isCut() && !r.isRefusal()
}

// isCut says that the stream of the last reply broke off, which the CLI takes
// for a success. The stop reason is then that of the reply before: an explicit
// null, or a tool use although text came after the tool's result. Output that
// names no stop reason at all is whole.
func (r *result) isCut() bool {
	reason := string(r.StopReason)
	return r.Subtype == "success" && (reason == "null" || reason == `"tool_use"` && r.hasText)
}

func (r *result) isRefusal() bool { return string(r.StopReason) == `"refusal"` }

// failure returns nil when there is a good answer. A turn that began after a
// good result and was cut off by us does not spoil it.
func (s *stream) failure(exit proc.Exit) *runner.Failure {
	last, o := s.costs.last, s.Order
	switch {
	case s.EarlyFailure != nil:
		return s.EarlyFailure
	case last != nil && last.isGood():
		return nil
	case s.final != nil && exit.Ended != proc.ByItself:
		return nil
	case program.EndFailure(exit, o) != nil:
		return program.EndFailure(exit, o)
	case last != nil:
		return s.api.classify(last, last.words(s.Display.Hide))
	case s.Records == 0 && strings.Contains(string(exit.StderrTail), "Input must be provided either through stdin"):
		// It waits three seconds for its prompt, which it always gets: the machine stood still.
		return program.Transient("the agent CLI took its prompt for missing: %s", program.DescribeExit(exit, o))
	case s.Records == 0 && exit.Code == 1 && refusesArguments().Match(exit.StderrTail):
		// It would say so again.
		return program.Fatal("the agent CLI refuses to start: %s", program.DescribeExit(exit, o))
	}
	return program.Transient("no result record: the agent CLI ended with %s", program.DescribeExit(exit, o))
}

var refusesArguments = text.Regexp(`(?im)^error: `)
