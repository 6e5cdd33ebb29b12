package slots

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/raymond-action/raymond-action/internal/forge"
)

// Conflict is the error that another job uses the names of this run, or that two workflow runs have
// resumed the same checkpoint.
type Conflict struct {
	Name string // of the artifact
	ID   int64  // of the artifact; 0 if unknown
	What string // the cause, with the workflow runs involved
}

func (e *Conflict) Error() string {
	if e.ID == 0 {
		return fmt.Sprintf("artifact %q: %s", e.Name, e.What)
	}
	return fmt.Sprintf("artifact %q (id %d): %s", e.Name, e.ID, e.What)
}

// NoAccess is the error that artifacts of other workflow runs can't be listed, because the token is
// missing or lacks a permission.
type NoAccess struct {
	Err error // nil without a token
	// Act is set if act runs the job, which has neither an API nor earlier workflow runs.
	Act bool
}

var errNoToken = errors.New("there is no token")

// Error implements error. It names the permission that is needed.
func (e *NoAccess) Error() string {
	if e.Act {
		return fmt.Sprintf("look for a checkpoint: %s; under act there are no earlier workflow runs", e.Err)
	}
	return fmt.Sprintf("look for a checkpoint: %s; the job's token needs the permission actions: read", cmp.Or(e.Err, errNoToken))
}

// Unwrap returns the cause.
func (e *NoAccess) Unwrap() error { return e.Err }

// Unavailable is the error that a service did not answer, or failed after retries. It is then
// unknown whether there is a run to resume.
type Unavailable struct {
	Err error // contains a *forge.Error
}

func (e *Unavailable) Error() string { return "look for a checkpoint: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *Unavailable) Unwrap() error { return e.Err }

// ErrListTooLong is the error that the newest artifacts all have another origin, and the rest of
// the list is not read.
var ErrListTooLong = errors.New("look for a checkpoint: the newest 3,000 artifacts of this name belong to other workflows, branches or forks, and older ones are not read")

// Gone is the error that the newest checkpoint no longer exists.
type Gone struct {
	Name string // of the artifact and its workflow run, for users
	Err  error  // the answer of the service; nil if a list marks it as expired
}

func (e *Gone) Error() string {
	text := e.Name + " has expired or was deleted"
	var told *forge.Error
	if errors.As(e.Err, &told) {
		text += fmt.Sprintf(" (%s: status %d)", told.Op, told.Status)
	}
	return text
}

// Unwrap returns the cause.
func (e *Gone) Unwrap() error { return e.Err }

func isA[T error](err error) bool {
	_, is := errors.AsType[T](err)
	return is
}
