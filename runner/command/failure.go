package command

import (
	"net/http"
	"time"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/proc"
	"github.com/raymond-action/raymond-action/runner/internal/program"
)

// The classes of errors that a program can report. Any other class is treated like classOther.
const (
	classAuthentication = "authentication"
	classRateLimit      = "rate_limit"
	classUsageLimit     = "usage_limit"
	classOverloaded     = "overloaded"
	classSessionGone    = "session_gone"
	classInvalid        = "invalid"
	classOther          = "other"
)

// failure returns the failure for an error that the program reports. text is the program's message, on
// one line and with secrets masked. until is the time at which a limit ends, or zero.
func failure(class, text string, until time.Time) *runner.Failure {
	if text == "" {
		text = "no message"
	}
	switch class {
	case classAuthentication:
		return program.Fatal("authentication: %s", text)
	case classSessionGone:
		return program.Fatal("session gone: %s", text)
	case classInvalid:
		return program.ReportedFailure(text, http.StatusBadRequest, text)
	case classUsageLimit:
		return &runner.Failure{Class: runner.UsageLimit, Reset: until, Message: "usage limit: " + text}
	case classRateLimit:
		return &runner.Failure{Class: runner.Service, NotBefore: until, Message: "rate limit: " + text}
	case classOverloaded:
		return &runner.Failure{Class: runner.Service, NotBefore: until, Message: "overloaded: " + text}
	}
	if fault := runner.ClassifyFault(text, 0); fault.Class == runner.Fatal {
		return program.Fatal("%s: %s", fault.Name, text)
	}
	return program.Transient("the agent command reports: %s", text)
}

// ended returns the failure for a process that reported no error. It returns nil if the process
// succeeded. A shell exits with code 127 if it can't find a program, and with code 126 if it can't start
// it.
func (s *stream) ended(exit proc.Exit) *runner.Failure {
	if f := program.EndFailure(exit, s.Order); f != nil {
		return f
	}
	switch how := program.DescribeExit(exit, s.Order); {
	case s.form == undecided && (exit.Code == 127 || exit.Code == 126):
		return program.Machine("the agent command can't be started: %s; check --agent-command", how)
	case exit.Code != 0 || exit.Signal != "":
		return program.Transient("the agent command ended with %s", how)
	case s.form == undecided:
		return program.Transient("the agent command printed nothing and ended with %s", how)
	}
	return nil
}
