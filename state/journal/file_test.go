package journal_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"
	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/state"
	"github.com/raymond-action/raymond-action/state/journal"
	"github.com/raymond-action/raymond-action/state/statetest"
)

// TestFilesEqualMemory makes random steps. After each step it checks that the run that is read from snapshot
// and journal is valid and equals the run in memory. It also checks that no step changes an earlier run or
// earlier entries of the ledger, and that no two agents have the same name.
func TestFilesEqualMemory(t *testing.T) {
	for seed := range uint64(walks) {
		walk(t, seed)
	}
}

// walk makes one series of random steps for TestFilesEqualMemory.
func walk(t *testing.T, seed uint64) {
	t.Helper()
	names := map[string]bool{}
	var before [][]byte
	r := record(t, seed, 60, journal.DefaultHistory, func(dir string, run, next *state.Run) {
		for _, e := range next.Events {
			if _, begins := e.Body.(*state.AgentStarted); begins && len(before) > 0 && names[e.Agent] {
				t.Fatalf("seed %d step %d: the name %s comes twice", seed, next.Progress.Seq, e.Agent)
			}
			names[e.Agent] = true
		}
		assert.Assert(t, is.DeepEqual(next.Ledger[:len(run.Ledger)], run.Ledger, cmpopts.EquateEmpty()), "seed %d step %d: the ledger was changed", seed, next.Progress.Seq)
		got, err := journal.Read(dir, "run-1")
		assert.NilError(t, err)
		assert.Equal(t, diffRuns(t, next, got), "", "seed %d step %d: memory -, files +", seed, next.Progress.Seq)
		before = append(before, statetest.Encode(t, next))
	})
	for i, data := range before {
		assert.Assert(t, bytes.Equal(statetest.Encode(t, r.runs[i+1]), data), "seed %d: run %d was changed later", seed, i+1)
	}
}

// savedDir returns a directory with one saved run.
func savedDir(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	f, err := journal.Create(dir, "run-1", "me")
	assert.NilError(t, err)
	assert.NilError(t, f.WriteSnapshot(statetest.NewRun(), nil, nil))
	assert.NilError(t, f.Close())
	return dir
}

// TestRunHasOneOwner checks that no second process can open a run before the first one closes it, and that no
// second run can be created with the same id.
func TestRunHasOneOwner(t *testing.T) {
	dir := savedDir(t)
	f, _, err := journal.Open(dir, "run-1", "the first")
	assert.NilError(t, err)
	if info, err := os.Stat(filepath.Join(dir, "run-1.lock")); err != nil || info.Size() > 0 {
		t.Errorf("the locked file, which can't be written on Windows: got %v, %v, want it empty", info, err)
	}
	var locked *journal.LockedError
	if _, _, err := journal.Open(dir, "run-1", "the second"); !errors.As(err, &locked) || !strings.Contains(locked.Error(), "the first") {
		t.Errorf("second Open: %v, want LockedError by the first", err)
	}
	assert.NilError(t, f.Close())
	if _, err := os.Stat(filepath.Join(dir, "run-1.holder")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the holder file after the lock was released: got %v, want it gone", err)
	}
	if _, err := journal.Create(dir, "run-1", "me"); !errors.Is(err, journal.ErrExists) {
		t.Errorf("Create: %v, want ErrExists", err)
	}
	assert.NilError(t, os.Remove(filepath.Join(dir, "run-1.json")))
	f, err = journal.Create(dir, "run-1", "me")
	// The lock file still exists, but no process holds the lock.
	assert.NilError(t, err)
	assert.NilError(t, f.Close())
}
