package command

import (
	"net/http"
	"time"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/proc"
	"github.com/raymond-action/raymond-action/runner/internal/program"
)

// The classes of an error, as the program names them. All others are classOther.
const (
	classAuthentication = "authentication"
	classRateLimit      = "rate_limit"
	classUsageLimit     = "usage_limit"
	classOverloaded     = "overloaded"
	classSessionGone    = "session_gone"
	classInvalid        = "invalid"
	classOther          = "other"
)

// failure says what an error that the program tells means. said is its message, without
// secrets, on one line.
func failure(class, said string, until time.Time) *runner.Failure {
	if said == "" {
		said = "no message"
	}
	switch class {
	case classAuthentication:
		return program.Fatal("authentication: %s", said)
	case classSessionGone:
		return program.Fatal("session gone: %s", said)
	case classInvalid:
		return program.ReportedFailure(said, http.StatusBadRequest, said)
	case classUsageLimit:
		return &runner.Failure{Class: runner.UsageLimit, Reset: until, Message: "usage limit: " + said}
	case classRateLimit:
		return &runner.Failure{Class: runner.Service, NotBefore: until, Message: "rate limit: " + said}
	case classOverloaded:
		return &runner.Failure{Class: runner.Service, NotBefore: until, Message: "overloaded: " + said}
	}
	if fault := runner.ClassifyFault(said, 0); fault.Class == runner.Fatal {
		return program.Fatal("%s: %s", fault.Name, said)
	}
	return program.Transient("the agent command reports: %s", said)
}

// ended says what an exit means when the program told no error.
// A shell exits with 127 for a program that it does not find, and with 126 for one that it can't start.
func (s *stream) ended(exit proc.Exit) *runner.Failure {
	if f := program.EndFailure(exit, s.Order); f != nil {
		return f
	}
	switch how := program.DescribeExit(exit, s.Order); {
	case s.isSilent() && (exit.Code == 127 || exit.Code == 126):
		return program.Machine("the agent command can't be started: %s; check --agent-command", how)
	case exit.Code != 0 || exit.Signal != "":
		return program.Transient("the agent command ended with %s", how)
	case s.isSilent():
		return program.Transient("the agent command printed nothing and ended with %s", how)
	}
	return nil
}
