package slots

import (
	"slices"

	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
)

// Taker is a step whose key comes from the marker of a comment or from the input raymond-key rather
// than from its own inputs.
type Taker struct {
	Key      string // the key that the step's inputs name; "" for none
	Job      string // its id in the workflow file
	Matrix   string // digest of the values of its job in a matrix; "" for none
	RunID    int64  // of the workflow run
	NamesJob bool   // the step has the input job
	Called   bool   // the job belongs to a reusable workflow, where other jobs may have the same id
}

// MayTake reports whether the step may resume the run of a manifest. An event starts every job that
// waits for its kind, but only some of them may continue the run: the job that the key belongs to,
// jobs that have resumed the run before, jobs that name this key themselves, and jobs to which the
// run was handed in this workflow run.
func (t Taker) MayTake(m *checkpoint.Manifest) bool {
	if t.Key == m.Key {
		return true
	}
	of := m.KeyOrigin
	if of == nil || t.Called {
		return false
	}
	isHanded := t.NamesJob && t.Key != "" && m.RunID == t.RunID && t.RunID != 0
	isKnown := t.Job != "" && (t.Job == of.Job || slices.Contains(of.Others, t.Job))
	return isHanded || isKnown && t.Matrix == of.Matrix
}
