package claude

import (
	"fmt"
	"strings"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/proc"
	"github.com/raymond-action/raymond-action/state"
)

// isGood says whether the model's answer is complete.
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

// judge says what the invocation amounted to.
func (s *stream) judge(exit proc.Exit) (runner.Answer, *runner.Failure) {
	fail := s.failure(exit)
	a := runner.Answer{
		Text: s.text.String(), SessionID: s.session, Model: s.model, Cost: s.cost(),
		ExitCode: exit.Code, Signal: exit.Signal,
	}
	if s.last != nil {
		a.Turns, a.Denied = s.last.NumTurns, s.denied(s.last.Denials)
		a.Refusals = s.refusals(s.last.Denials)
	}
	if fail == nil {
		a.Text = *s.final
		s.oddEnd(exit)
	}
	s.oddOutput(exit)
	a.Notes = s.notes
	return a, fail
}

// failure returns nil when there is a good answer. A turn that began after a
// good result and was cut off by us does not spoil it.
func (s *stream) failure(exit proc.Exit) *runner.Failure {
	switch {
	case s.fault != nil:
		return s.fault
	case s.last != nil && s.last.isGood():
		return nil
	case s.final != nil && exit.Ended != proc.ByItself:
		return nil
	case exit.Ended == proc.ByStop:
		return &runner.Failure{Class: runner.Stopped, Message: "stopped before the agent had answered"}
	case exit.Ended == proc.ByTimeout:
		return &runner.Failure{Class: runner.TimedOut, Message: fmt.Sprintf("no answer after %s", s.order.Timeout)}
	case exit.Ended == proc.ByIdle:
		return &runner.Failure{Class: runner.TimedOut, Message: fmt.Sprintf("no output for %s", s.order.Idle)}
	case s.last == nil:
		return s.noResult(exit)
	}
	return s.classify(s.last)
}

// noResult is for a CLI that ended without a result record. One that says
// nothing but an error of its command line would say so again.
func (s *stream) noResult(exit proc.Exit) *runner.Failure {
	f := &runner.Failure{Class: runner.Transient, Message: "no result record: the agent CLI ended with " + ending(exit, s.order)}
	if s.records == 0 && exit.Code == 1 && refusesArguments(exit.StderrTail) {
		f.Class, f.Message = runner.Fatal, "the agent CLI refuses to start: "+ending(exit, s.order)
	}
	return f
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
	if text := oneLine(hidden(o, string(exit.LastWords())), 500); text != "" {
		how += ": " + text
	}
	return how
}

// oddEnd notes what a process did after its good result.
func (s *stream) oddEnd(exit proc.Exit) {
	switch {
	case exit.Ended == proc.BySettling:
		s.note("the agent CLI went on after its result and was ended")
	case exit.Ended != proc.ByItself:
		s.note("the agent CLI was ended (%s) after its result", exit.Ended)
	case exit.Code != 0:
		s.note("the agent CLI ended with %s after a good result", ending(exit, s.order))
	}
}

func (s *stream) oddOutput(exit proc.Exit) {
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
