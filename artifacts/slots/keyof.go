package slots

import (
	"slices"

	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
)

// Taker is a step that was told a key which it has not chosen itself: by the marker of
// a comment, or by the input raymond-key.
type Taker struct {
	Key      string // that the step names itself; "" for none
	Job      string // its id in the workflow file
	Matrix   string // digest of the values of its leg of a matrix; "" for none
	RunID    int64  // of the workflow run
	NamesJob bool   // it says whose states of the workflow it runs
	Called   bool   // its job is one of a reusable workflow, of which others may have the same id
}

// MayTake reports whether the step may resume the run of a manifest. An event starts
// every job that waits for its kind, and not each may continue the run: only the job whose
// key it is or another one that has resumed it before, one that names this key itself, or
// one to which the run was handed in this very workflow run.
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
