package claude

import (
	"fmt"
	"strings"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/proc"
	"github.com/raymond-action/raymond-action/state"
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

// verdict is whether an invocation went well, and why not.
type verdict struct {
	early *runner.Failure // found before the end
	last  *result         // the newest result record
	final *string         // the message of the newest good one
	api   apiError        // what the CLI said of errors before the last record
}

// failure returns nil when there is a good answer. A turn that began after a
// good result and was cut off by us does not spoil it.
func (v *verdict) failure(exit proc.Exit, o runner.Order, records int) *runner.Failure {
	switch {
	case v.early != nil:
		return v.early
	case v.last != nil && v.last.isGood():
		return nil
	case v.final != nil && exit.Ended != proc.ByItself:
		return nil
	case exit.Ended == proc.ByStop:
		return &runner.Failure{Class: runner.Stopped, Message: "stopped before the agent had answered"}
	case exit.Ended == proc.ByTimeout:
		return &runner.Failure{Class: runner.TimedOut, Message: fmt.Sprintf("no answer after %s", o.Timeout)}
	case exit.Ended == proc.ByIdle:
		return &runner.Failure{Class: runner.TimedOut, Message: fmt.Sprintf("no output for %s", o.Idle)}
	case v.last != nil:
		return v.api.classify(v.last, v.last.words(hider(o)))
	case records == 0 && exit.Code == 1 && refusesArguments(exit.StderrTail):
		// It would say so again.
		return fatal("the agent CLI refuses to start: %s", ending(exit, o))
	}
	return transient("no result record: the agent CLI ended with " + ending(exit, o))
}

func refusesArguments(stderr []byte) bool {
	for line := range strings.Lines(string(stderr)) {
		if strings.HasPrefix(strings.ToLower(line), "error: ") {
			return true
		}
	}
	return false
}

// ending describes an exit, with the end of stderr.
func ending(exit proc.Exit, o runner.Order) string {
	how := fmt.Sprintf("exit code %d", exit.Code)
	if exit.Signal != "" {
		how = "signal " + exit.Signal
	}
	if text := oneLine(hider(o)(string(exit.LastWords())), 500); text != "" {
		how += ": " + text
	}
	return how
}

// noteEnd notes what a process did after its good result.
func (s *stream) noteEnd(exit proc.Exit) {
	switch {
	case exit.Ended == proc.ByLateExit:
		s.note("the agent CLI continued after its result and was ended")
	case exit.Ended != proc.ByItself:
		s.note("the agent CLI was ended (%s) after its result", exit.Ended)
	case exit.Code != 0:
		s.note("the agent CLI ended with %s after a good result", ending(exit, s.order))
	}
}

// noteOutput notes what can't be read in the output, and what the process left
// behind.
func (s *stream) noteOutput(exit proc.Exit) {
	if s.unread > 0 {
		s.note("no records in %s of the agent CLI's output", state.Count(s.unread, "line"))
	}
	if exit.Swept > 0 {
		s.note("ended %s that the agent left behind", state.Count(exit.Swept, "process"))
	}
	if exit.Left > 0 {
		s.note("%s that the agent left behind could not be ended", state.Count(exit.Left, "process"))
	}
}
