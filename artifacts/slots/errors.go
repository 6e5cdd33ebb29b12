package slots

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/raymond-action/raymond-action/internal/forge"
)

// Conflict says that somebody else stores under the names of this run, or that
// two workflow runs resumed the same checkpoint.
type Conflict struct {
	Name string // of the artifact
	ID   int64  // of the artifact; 0 where it is not known
	What string // what is wrong, with the workflow runs that have to do with it
}

func (e *Conflict) Error() string {
	if e.ID == 0 {
		return fmt.Sprintf("artifact %q: %s", e.Name, e.What)
	}
	return fmt.Sprintf("artifact %q (id %d): %s", e.Name, e.ID, e.What)
}

// NoAccess says that what other runs stored can't be seen: there is no token, or it
// lacks a permission.
type NoAccess struct {
	Err error // nil when there is no token
	// Act says that act runs the job, which has no API and no earlier runs.
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

// Unavailable says that a service could not be asked, or failed, after retries:
// nobody knows whether there is a run to resume.
type Unavailable struct {
	Err error // has a *forge.Error inside
}

func (e *Unavailable) Error() string { return "look for a checkpoint: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *Unavailable) Unwrap() error { return e.Err }

// ErrListTooLong says that the newest artifacts are all of others, and that the list
// is longer than what is read of it.
var ErrListTooLong = errors.New("look for a checkpoint: the newest 3,000 artifacts of this name are of other workflows, branches or forks, and there are more")

// Gone says that the newest checkpoint is no longer there.
type Gone struct {
	Name string // of the artifact and its workflow run, for people
	Err  error  // what was answered; nil where the list says so
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
