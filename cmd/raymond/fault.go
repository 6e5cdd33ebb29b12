package main

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/state"
)

// class is one of the classes of errors that the command line documents.
type class string

// The classes, and the exit code of each.
const (
	classRunFailed class = "run_failed"
	classUsage     class = "usage"
	classOverLimit class = "over_limit"
	classConflict  class = "conflict"
	classBadState  class = "bad_state"
	classStore     class = "store"
	classDenied    class = "denied"
	classWorkflow  class = "workflow"
	classRuntime   class = "runtime"
	classSuspended class = "suspended"
	classCancelled class = "cancelled"
	classInternal  class = "internal"
)

var exitCodes = map[class]int{
	classRunFailed: 1, classUsage: 2, classOverLimit: 3, classConflict: 4, classBadState: 5, classStore: 6,
	classWorkflow: 7, classDenied: 8, classRuntime: 9, classSuspended: 10, classInternal: 70, classCancelled: 130,
}

// classMeanings say what each class is about.
var classMeanings = map[class]string{
	classRunFailed: "an agent failed, or a simulated run is not as expected",
	classUsage:     "a flag or an argument is wrong; nothing was started",
	classOverLimit: "budget or iterations; resumable",
	classConflict:  "another process drives the run, or the workflow has changed",
	classBadState:  "the state file can't be used; it is left as it is",
	classStore:     "the artifact service can't be used after retries; the local state is kept",
	classDenied:    "a security rule says no; the message names the setting that allows it",
	classWorkflow:  "the workflow is wrong; nothing was started",
	classRuntime:   "the machine: no agent CLI, disk full, permissions",
	classSuspended: "stopped on purpose: deadline, usage limit; resumable",
	classInternal:  "a bug of raymond",
	classCancelled: "by SIGINT, SIGTERM; resumable",
}

// fault is an error as the user sees it: one line.
type fault struct {
	class class
	where string
	what  string
	hint  string
	code  int  // 0: the one of the class
	told  bool // there is nothing more to say
}

// Error is the line without the program's name.
func (f *fault) Error() string {
	parts := []string{string(f.class)}
	for _, p := range []string{f.where, f.what} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	line := strings.Join(parts, ": ")
	if f.hint != "" {
		line += "; " + f.hint
	}
	// The job log of a runner takes this for the beginning of a command.
	return strings.ReplaceAll(oneLine(bounded(line)), "##[", "# #[")
}

// maxError is how long an error line may be, in bytes: what came from outside,
// such as a path into deeply nested JSON, can be of any length.
const maxError = 4000

// bounded cuts out the middle of a text that is too long.
func bounded(s string) string {
	if len(s) <= maxError {
		return s
	}
	const half = maxError / 2
	head, tail := strings.ToValidUTF8(s[:half], ""), strings.ToValidUTF8(s[len(s)-half:], "")
	return fmt.Sprintf("%s … %d bytes left out … %s", head, len(s)-len(head)-len(tail), tail)
}

// oneLine shows line breaks and other control characters as escapes.
func oneLine(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r < ' ' || r == 0x7f {
			b.WriteString(strings.Trim(fmt.Sprintf("%q", r), "'"))
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

func (f *fault) exitCode() int {
	if f.code != 0 {
		return f.code
	}
	return exitCodes[f.class]
}

func usage(where, what, hint string) error {
	return &fault{class: classUsage, where: where, what: what, hint: hint}
}

// faults flattens an error into the lines to print. An error that nobody gave a
// class is judged by what is known of it.
func faults(err error) []*fault {
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var out []*fault
		for _, e := range joined.Unwrap() {
			out = append(out, faults(e)...)
		}
		return out
	}
	return []*fault{judge(err)}
}

// judge gives an error its class.
func judge(err error) *fault {
	var known *fault
	var locked *state.Locked
	var invalid *state.Invalid
	var path *fs.PathError
	var errno syscall.Errno
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &locked):
		what := strings.TrimSuffix("is driven by another process: "+strings.TrimSpace(locked.Holder), ": ")
		return &fault{class: classConflict, where: locked.ID, what: what, hint: "wait for it to end, or stop it"}
	case errors.Is(err, state.ErrExists):
		return &fault{class: classConflict, where: "--workflow-id", what: err.Error(), hint: "go on with it by raymond resume, or pick another id"}
	case errors.As(err, &invalid):
		return &fault{class: classBadState, what: invalid.Error(), hint: "the file is left as it is"}
	case errors.Is(err, state.ErrNotFound):
		return &fault{class: classUsage, where: "WORKFLOW_ID", what: err.Error(), hint: "raymond list shows the runs; --state-dir names another folder"}
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EFBIG), errors.Is(err, syscall.EDQUOT):
		return &fault{class: classRuntime, what: err.Error(), hint: "free some space; the last saved state is whole"}
	}
	if f := judgeStore(err); f != nil {
		return f
	}
	if errors.As(err, &path) || errors.As(err, &errno) {
		return &fault{class: classRuntime, what: err.Error()}
	}
	return &fault{class: classInternal, what: err.Error(), hint: "please report this"}
}

// workflowFaults words the problems of a workflow's files.
func workflowFaults(scope string, problems []protocol.Problem) error {
	var out []error
	for _, p := range problems {
		where := scope
		if p.File != "" {
			where = p.File
		}
		if p.Pos.Line > 0 {
			where = fmt.Sprintf("%s:%d:%d", where, p.Pos.Line, max(1, p.Pos.Col))
		}
		out = append(out, &fault{class: classWorkflow, where: where, what: p.Message, hint: p.Hint})
	}
	return errors.Join(out...)
}
