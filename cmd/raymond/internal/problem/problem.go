// Package problem has the errors that users of the program see: each is one line
// with a class, which decides on the exit code. It is the one place that gives
// errors of other packages their class.
package problem

import (
	"errors"
	"fmt"
	"strings"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/state"
)

// Class is one of the classes of errors that the command line documents.
type Class string

// The classes, and the exit code of each.
const (
	ClassRunFailed Class = "run_failed"
	ClassUsage     Class = "usage"
	ClassOverLimit Class = "over_limit"
	ClassConflict  Class = "conflict"
	ClassBadState  Class = "bad_state"
	ClassStore     Class = "store"
	ClassDenied    Class = "denied"
	ClassWorkflow  Class = "workflow"
	ClassRuntime   Class = "runtime"
	ClassSuspended Class = "suspended"
	ClassCancelled Class = "cancelled"
	ClassInternal  Class = "internal"
)

// ExitCodes are the exit codes of the classes.
var ExitCodes = map[Class]int{
	ClassRunFailed: 1, ClassUsage: 2, ClassOverLimit: 3, ClassConflict: 4, ClassBadState: 5, ClassStore: 6,
	ClassWorkflow: 7, ClassDenied: 8, ClassRuntime: 9, ClassSuspended: 10, ClassInternal: 70, ClassCancelled: 130,
}

// Meanings say what each class is about.
var Meanings = map[Class]string{
	ClassRunFailed: "an agent failed, or a simulated run is not as expected",
	ClassUsage:     "a flag or an argument is wrong; nothing was started",
	ClassOverLimit: "budget or iterations; resumable",
	ClassConflict:  "another process drives the run, or the workflow has changed",
	ClassBadState:  "the state file can't be used; it is left as it is",
	ClassStore:     "the artifact service can't be used after retries; the local state is kept",
	ClassDenied:    "a security rule says no; the message names the setting that allows it",
	ClassWorkflow:  "the workflow is wrong; nothing was started",
	ClassRuntime:   "the machine: no agent CLI, disk full, permissions",
	ClassSuspended: "stopped on purpose: deadline, usage limit, agents that wait; resumable",
	ClassInternal:  "a bug of raymond",
	ClassCancelled: "by SIGINT, SIGTERM; resumable",
}

// Problem is an error as the user sees it: one line.
type Problem struct {
	Class      Class
	Where      string // file, field, input or flag; "" for none
	What       string
	Hint       string // what to do; "" for nothing
	Code       int    // the exit code; 0 for the one of the class
	IsReported bool   // the user knows it already: it is not printed again
}

// Error is the line without the program's name.
func (f *Problem) Error() string {
	parts := []string{string(f.Class)}
	for _, p := range []string{f.Where, f.What} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	line := strings.Join(parts, ": ")
	if f.Hint != "" {
		line += "; " + f.Hint
	}
	// The job log of a runner takes this for the beginning of a command.
	return text.BreakCommandMark(text.Escape(CutMiddle(line)))
}

// maxError is how long an error line may be, in bytes: what came from outside,
// such as a path into deeply nested JSON, can be of any length.
const maxError = 4000

// CutMiddle cuts out the middle of a text that is too long.
func CutMiddle(s string) string {
	if len(s) <= maxError {
		return s
	}
	const half = maxError / 2
	head, tail := text.Prefix(s, half), text.Suffix(s, half)
	return fmt.Sprintf("%s … %d bytes left out … %s", head, len(s)-len(head)-len(tail), tail)
}

// ExitCode is the exit code of a program that ends with the problem.
func (f *Problem) ExitCode() int {
	if f.Code != 0 {
		return f.Code
	}
	return ExitCodes[f.Class]
}

// Usage is a problem with what the user gave: a flag, an argument or an input.
func Usage(where, what, hint string) error {
	return &Problem{Class: ClassUsage, Where: where, What: what, Hint: hint}
}

// OfMachine is an error of the machine, such as a full disk; nil for a nil error.
func OfMachine(where string, err error) error {
	if err == nil {
		return nil
	}
	return &Problem{Class: ClassRuntime, Where: where, What: err.Error()}
}

// Flatten flattens an error into the lines to print. An error that nobody gave a
// class is judged by what is known of it.
func Flatten(err error) []*Problem {
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var out []*Problem
		for _, e := range joined.Unwrap() {
			out = append(out, Flatten(e)...)
		}
		return out
	}
	return []*Problem{classify(err)}
}

// classify gives an error its class.
func classify(err error) *Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	if locked, ok := errors.AsType[*state.LockedError](err); ok {
		what := strings.TrimSuffix("is driven by another process: "+strings.TrimSpace(locked.Holder), ": ")
		return &Problem{Class: ClassConflict, Where: locked.ID, What: what, Hint: "wait for it to end, or stop it"}
	}
	for _, k := range known {
		if k.fits(err) {
			k.What = err.Error()
			return &k.Problem
		}
	}
	return &Problem{Class: ClassInternal, What: err.Error(), Hint: "please report this"}
}

// OfWorkflow words the problems of a workflow's files.
func OfWorkflow(scope string, problems []protocol.Problem) error {
	var out []error
	for _, p := range problems {
		where := scope
		if p.File != "" {
			where = p.File
		}
		if p.Pos.Line > 0 {
			where = fmt.Sprintf("%s:%d:%d", where, p.Pos.Line, max(1, p.Pos.Col))
		}
		out = append(out, &Problem{Class: ClassWorkflow, Where: where, What: p.Message, Hint: p.Hint})
	}
	return errors.Join(out...)
}

// Shorten keeps a value that is shown in an error short.
func Shorten(s string) string { return text.Truncate(s, 80) }
