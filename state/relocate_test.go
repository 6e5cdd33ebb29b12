package state_test

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/state"
)

// TestRelocateMovesEveryDirectory checks that Relocate converts all paths in a run. It searches the whole
// state file for the old path, so it also covers new fields.
func TestRelocateMovesEveryDirectory(t *testing.T) {
	run := newRun()
	run.Scope, run.Dir = state.Abs("/old/flow"), state.Abs("/old")
	a := run.Agents[0]
	a.Dir, a.Payload = state.Abs("/old/tree"), "text that names /old"
	a.Stack = []state.Frame{{State: "A.md", Dir: state.Abs("/old/tree/sub")}, {State: "A.md"}}
	before := string(fileOf(t, run))
	moved, err := run.Relocate(func(path string) string { return strings.Replace(path, "old", "new", 1) })
	assert.NilError(t, err)
	want := strings.ReplaceAll(strings.ReplaceAll(before, "old", "new"), "names /new", "names /old")
	assert.Check(t, is.Equal(string(fileOf(t, moved)), want))
	equal(t, "the run itself", string(fileOf(t, run)), before)
}
