package program

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/proc"
)

// Fatal is a failure that another try won't cure.
func Fatal(format string, args ...any) *runner.Failure {
	return &runner.Failure{Class: runner.Fatal, Message: fmt.Sprintf(format, args...)}
}

// Transient is a failure that another try may cure.
func Transient(format string, args ...any) *runner.Failure {
	return &runner.Failure{Class: runner.Transient, Message: fmt.Sprintf(format, args...)}
}

// Machine is a failure that the owner of the machine must cure.
func Machine(format string, args ...any) *runner.Failure {
	return &runner.Failure{Class: runner.Machine, Message: fmt.Sprintf(format, args...)}
}

// Stopped is the failure of an invocation that was stopped before its process was started.
func Stopped() *runner.Failure {
	return &runner.Failure{Class: runner.Stopped, Message: "stopped before the agent CLI was started"}
}

// StartFailure says what a failed start means. What is missing or forbidden stays so; a machine
// short of processes or memory may recover. howTo is how the CLI is installed, or "".
func StartFailure(err error, howTo string) *runner.Failure {
	f := &runner.Failure{Class: runner.Transient, NotStarted: true, Message: fmt.Sprintf("start the agent CLI: %v", err)}
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.ENOEXEC):
		f.Class = runner.Machine
		if howTo != "" {
			f.Message += "; " + howTo
		}
	case errors.Is(err, syscall.E2BIG), errors.Is(err, proc.ErrBatch):
		f.Class = runner.Fatal
	}
	return f
}

// EndFailure is the failure of a process that was ended before it had answered; nil for one that
// ended by itself or after its answer.
func EndFailure(exit proc.Exit, o runner.Order) *runner.Failure {
	switch exit.Ended {
	case proc.ByStop:
		return &runner.Failure{Class: runner.Stopped, Message: "stopped before the agent had answered"}
	case proc.ByTimeout:
		return &runner.Failure{Class: runner.TimedOut, Message: fmt.Sprintf("no answer after %s", o.Timeout)}
	case proc.ByIdle:
		return &runner.Failure{Class: runner.TimedOut, Message: fmt.Sprintf("no output for %s", o.Idle)}
	}
	return nil
}

// DescribeExit describes an exit, with the end of stderr.
func DescribeExit(exit proc.Exit, o runner.Order) string {
	how := exit.Describe()
	if text := OneLine(Hider(o)(string(exit.StderrEnd())), 500); text != "" {
		how += ": " + text
	}
	return how
}
