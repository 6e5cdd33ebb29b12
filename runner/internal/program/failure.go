package program

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"syscall"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/proc"
	"github.com/raymond-action/raymond-action/runner/keyproxy"
)

// Fatal returns a failure that a retry can't fix.
func Fatal(format string, args ...any) *runner.Failure {
	return &runner.Failure{Class: runner.Fatal, Message: fmt.Sprintf(format, args...)}
}

// Transient returns a failure that a retry may fix.
func Transient(format string, args ...any) *runner.Failure {
	return &runner.Failure{Class: runner.Transient, Message: fmt.Sprintf(format, args...)}
}

// Machine returns a failure that only a change on the machine can fix, for example an installation.
func Machine(format string, args ...any) *runner.Failure {
	return &runner.Failure{Class: runner.Machine, Message: fmt.Sprintf(format, args...)}
}

// Stopped returns the failure of an invocation that was stopped before its process started.
func Stopped() *runner.Failure {
	return &runner.Failure{Class: runner.Stopped, Message: "stopped before the agent CLI was started"}
}

// StartFailure returns the failure for a process that could not be started. A retry can't fix a program
// that is missing or may not be executed, but it may fix a shortage of processes or memory. howTo is an
// instruction for installing the CLI. It may be empty.
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

// EndFailure returns the failure for a process that was stopped, or was ended by a timeout, before it
// answered. It returns nil if the process ended in another way.
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

// DescribeExit describes how a process ended. It includes the end of the process's stderr, with secrets
// masked.
func DescribeExit(exit proc.Exit, o runner.Order) string {
	how := exit.Describe()
	if text := OneLine(Hider(o)(string(exit.StderrEnd())), 500); text != "" {
		how += ": " + text
	}
	return how
}

// ReportedFailure returns the failure for an error that a CLI reports. The words of the error and the
// API's HTTP status determine the class of the failure. status is 0 if it is unknown. text is the
// message for users.
func ReportedFailure(words string, status int, text string) *runner.Failure {
	f := runner.ClassifyFault(words, status)
	if f.Class == runner.Fatal {
		return Fatal("%s: %s", f.Name, text)
	}
	return &runner.Failure{Class: f.Class, Message: "the agent CLI reports: " + text}
}

// AddProxyCause adds to a failure what only the key proxy knows. If the budget is exhausted, it returns
// another failure, which names the budget as the cause. If the API has said when it accepts the next request,
// it sets f.NotBefore. f and each account may be nil.
func AddProxyCause(f *runner.Failure, accounts ...*keyproxy.Account) *runner.Failure {
	switch {
	case f == nil:
	case f.Class != runner.Stopped && slices.ContainsFunc(accounts, (*keyproxy.Account).IsSpent):
		return &runner.Failure{Class: runner.OverBudget, Continue: true, Message: "the budget is exhausted: the key proxy forwards no more requests"}
	case f.Class == runner.Service && f.NotBefore.IsZero():
		for _, a := range accounts {
			if at := a.RetryAfter(); at.After(f.NotBefore) {
				f.NotBefore = at
			}
		}
	}
	return f
}
