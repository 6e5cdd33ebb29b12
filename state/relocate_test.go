package state_test

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/state"
	"github.com/raymond-action/raymond-action/state/statetest"
)

// TestRelocateMovesEveryDirectory checks that Relocate converts all paths in a run. It searches the whole
// state file for the old path, so it also covers new fields.
func TestRelocateMovesEveryDirectory(t *testing.T) {
	run := statetest.NewRun()
	run.Scope, run.Dir = statetest.Abs("/old/flow"), statetest.Abs("/old")
	a := run.Agents[0]
	a.Dir, a.Payload = statetest.Abs("/old/tree"), "text that names /old"
	a.Stack = []state.Frame{{State: "A.md", Dir: statetest.Abs("/old/tree/sub")}, {State: "A.md"}}
	before := string(statetest.Encode(t, run))
	moved, err := run.Relocate(func(path string) string { return strings.Replace(path, "old", "new", 1) })
	assert.NilError(t, err)
	want := strings.ReplaceAll(strings.ReplaceAll(before, "old", "new"), "names /new", "names /old")
	assert.Check(t, is.Equal(string(statetest.Encode(t, moved)), want))
	equal(t, "the run itself", string(statetest.Encode(t, run)), before)
}
