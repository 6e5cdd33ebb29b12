package problem

import (
	"errors"

	"github.com/raymond-action/raymond-action/artifacts"
	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/artifacts/slots"
)

// startNew is what to do where nobody can say whether there is a run to resume.
const startNew = "run the job again later; resume: never starts a new run without looking"

// ofStore gives the errors of storing and finding checkpoints their class.
func ofStore(err error) *Problem {
	var conflict *slots.Conflict
	var unavailable *slots.Unavailable
	var access *slots.NoAccess
	var gone *slots.Gone
	switch {
	case errors.As(err, &conflict):
		return &Problem{Class: ClassConflict, What: err.Error(), Hint: "give each use a key of its own, and the workflow a concurrency group"}
	case errors.Is(err, slots.ErrFull):
		return &Problem{Class: ClassStore, Where: "checkpoints", What: err.Error()}
	case errors.As(err, &unavailable):
		return &Problem{Class: ClassStore, Where: "checkpoints", What: err.Error(), Hint: startNew}
	case errors.As(err, &gone), errors.Is(err, slots.ErrListTooLong):
		return &Problem{Class: ClassUsage, Where: "input resume", What: err.Error(), Hint: "resume: auto or never starts a new run; retention-days says how long runs are kept"}
	case errors.As(err, &access) && access.Act:
		return &Problem{Class: ClassStore, Where: "checkpoints", What: err.Error(), Hint: startNew}
	case errors.As(err, &access):
		return &Problem{Class: ClassStore, Where: "checkpoints", What: err.Error(), Hint: "give the job permissions: actions: read"}
	}
	return ofCheckpoint(err)
}

// ofCheckpoint gives the errors of reading a checkpoint their class; nil for
// others.
func ofCheckpoint(err error) *Problem {
	var invalid *checkpoint.Invalid
	switch {
	case errors.Is(err, checkpoint.ErrSealed):
		return &Problem{Class: ClassDenied, Where: "checkpoint", What: err.Error()}
	case errors.Is(err, checkpoint.ErrNotSigned):
		return &Problem{Class: ClassBadState, Where: "checkpoint", What: err.Error(), Hint: "where state-key is new, run once with resume: never"}
	case errors.Is(err, artifacts.ErrDigest), errors.Is(err, artifacts.ErrTooLarge):
		return &Problem{Class: ClassBadState, Where: "checkpoint", What: err.Error()}
	case errors.As(err, &invalid):
		return &Problem{Class: ClassBadState, Where: "checkpoint", What: err.Error(), Hint: "it is left as it is; resume: never starts a new run"}
	}
	return nil
}
