package problem

import (
	"errors"
	"io/fs"
	"syscall"

	"github.com/raymond-action/raymond-action/artifacts"
	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/artifacts/slots"
	"github.com/raymond-action/raymond-action/state"
	"github.com/raymond-action/raymond-action/state/journal"
)

// retryHint is the hint for a failure after which it is unknown whether there is a run to resume.
const retryHint = "run the job again later, or start a new run with resume: never"

// known assigns a class to errors of other packages. The first entry whose fits returns true is used,
// with the error's text as What.
var known = []struct {
	fits func(error) bool
	Problem
}{
	{is(journal.ErrExists), Problem{Class: ClassConflict, Where: "--workflow-id", Hint: "use raymond resume, or choose another id"}},
	{as[*state.FileError], Problem{Class: ClassBadState, Hint: "the file is left as it is"}},
	{is(journal.ErrNotFound), Problem{Class: ClassUsage, Where: "WORKFLOW_ID", Hint: "raymond list shows the runs; --state-dir selects another directory"}},
	{is(syscall.ENOSPC, syscall.EFBIG, syscall.EDQUOT), Problem{Class: ClassRuntime, Hint: "free some space; the last saved state is intact"}},
	{as[*slots.Conflict], Problem{Class: ClassConflict, Hint: "give each step its own key, and the workflow a concurrency group"}},
	{is(slots.ErrFull), Problem{Class: ClassStore, Where: "checkpoints"}},
	{as[*slots.Unavailable], Problem{Class: ClassStore, Where: "checkpoints", Hint: retryHint}},
	{as[*slots.Gone], oldRun},
	{is(slots.ErrListTooLong), oldRun},
	{isOfAct, Problem{Class: ClassStore, Where: "checkpoints", Hint: retryHint}},
	{as[*slots.NoAccess], Problem{Class: ClassStore, Where: "checkpoints", Hint: "give the job permissions: actions: read"}},
	{is(checkpoint.ErrSealed), Problem{Class: ClassDenied, Where: "checkpoint"}},
	{is(checkpoint.ErrNotSigned), Problem{Class: ClassBadState, Where: "checkpoint", Hint: "if state-key is new, run once with resume: never"}},
	{is(artifacts.ErrDigest, artifacts.ErrTooLarge), Problem{Class: ClassBadState, Where: "checkpoint"}},
	{as[*checkpoint.Invalid], Problem{Class: ClassBadState, Where: "checkpoint", Hint: "it was not changed; resume: never starts a new run"}},
	{as[*fs.PathError], Problem{Class: ClassRuntime}},
	{as[syscall.Errno], Problem{Class: ClassRuntime}},
}

// oldRun is the problem of a run that can't be resumed because it is no longer stored.
var oldRun = Problem{Class: ClassUsage, Where: "input resume", Hint: "resume: auto or never starts a new run; retention-days sets how long runs are stored"}

// as reports whether err or an error that it wraps has the type E.
func as[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// is returns a function that reports whether an error is, or wraps, one of the targets.
func is(targets ...error) func(error) bool {
	return func(err error) bool {
		for _, target := range targets {
			if errors.Is(err, target) {
				return true
			}
		}
		return false
	}
}

// isOfAct reports whether an error occurred because the job runs under act, which has no REST API.
func isOfAct(err error) bool {
	access, ok := errors.AsType[*slots.NoAccess](err)
	return ok && access.Act
}
