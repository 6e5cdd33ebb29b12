// Package problem defines the errors that users of the program see. Each is one line with a class, which
// determines the exit code. No other package assigns classes to errors.
package problem

import (
	"errors"
	"fmt"
	"strings"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/state/journal"
)

// Class is a class of errors. docs/reference.md documents the classes.
type Class string

// The classes of errors.
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

// Meanings describe the classes.
var Meanings = map[Class]string{
	ClassRunFailed: "an agent failed, or a simulated run differs from the expected one",
	ClassUsage:     "a flag or an argument is wrong; nothing was started",
	ClassOverLimit: "budget or iterations; resumable",
	ClassConflict:  "another process drives the run, or the workflow has changed",
	ClassBadState:  "the state file can't be used; it was not changed",
	ClassStore:     "the artifact service can't be used after retries; the local state is kept",
	ClassDenied:    "a security rule forbids it; the message names the setting that allows it",
	ClassWorkflow:  "the workflow is wrong; nothing was started",
	ClassRuntime:   "the machine: no agent CLI, disk full, permissions",
	ClassSuspended: "stopped on purpose: deadline, usage limit, agents that wait; resumable",
	ClassInternal:  "a bug in raymond",
	ClassCancelled: "by SIGINT, SIGTERM; resumable",
}

// Problem is an error as the user sees it: one line of text.
type Problem struct {
	Class      Class
	Where      string // file, field, input or flag; may be empty
	What       string
	Hint       string // advice; may be empty
	Code       int    // exit code; if 0, the exit code of the class
	IsReported bool   // the user has seen the problem, so it is not printed again
}

// Error returns the line to print, without the program's name.
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
	// The line must not contain anything that the CI runner takes for a workflow command.
	return text.BreakCommandMark(text.Escape(CutMiddle(line)))
}

// maxError is the maximum length of an error line, in bytes. Text from outside, such as a path in deeply
// nested JSON, could make a line much longer.
const maxError = 4000

// CutMiddle removes the middle of a text that is longer than an error line may be.
func CutMiddle(s string) string {
	if len(s) <= maxError {
		return s
	}
	const half = maxError / 2
	head, tail := text.Prefix(s, half), text.Suffix(s, half)
	return fmt.Sprintf("%s … %d bytes left out … %s", head, len(s)-len(head)-len(tail), tail)
}

// ExitCode returns the exit code with which the program ends because of the problem.
func (f *Problem) ExitCode() int {
	if f.Code != 0 {
		return f.Code
	}
	return ExitCodes[f.Class]
}

// Usage returns a problem of class usage with a flag, an argument or an input.
func Usage(where, what, hint string) error {
	return &Problem{Class: ClassUsage, Where: where, What: what, Hint: hint}
}

// OfMachine returns a problem with the machine, such as a full disk. It returns nil if err is nil.
func OfMachine(where string, err error) error {
	if err == nil {
		return nil
	}
	return &Problem{Class: ClassRuntime, Where: where, What: err.Error()}
}

// Flatten returns the problems in an error, one for each line to print. It assigns a class to errors
// without a class.
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

// classify returns the Problem that err wraps. If err wraps no Problem, it makes a Problem with a class
// from err.
func classify(err error) *Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	if locked, ok := errors.AsType[*journal.LockedError](err); ok {
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

// OfWorkflow converts problems in workflow files to an error. For a problem that names no file, the error
// names scope.
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

// Shorten shortens a value that an error quotes.
func Shorten(s string) string { return text.Truncate(s, 80) }
