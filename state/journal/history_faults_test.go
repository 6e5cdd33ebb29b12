package journal_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/state"
	"github.com/raymond-action/raymond-action/state/journal"
	"github.com/raymond-action/raymond-action/state/statetest"
)

// TestRunWithoutHistory checks that a run can continue after its history was deleted, and that a new history
// begins at that point. It also checks that a run can be saved without a history.
func TestRunWithoutHistory(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "run-1.journal")
	f, err := journal.Create(dir, "run-1", "me")
	assert.NilError(t, err)
	r := recording{dir: dir, runs: make([]*state.Run, 9)}
	run := statetest.NewRun()
	save := func(folds bool) {
		step := run.Step(statetest.Epoch)
		step.RecordDeadline(1)
		d := step.Delta()
		run = run.With(d)
		if folds {
			assert.NilError(t, f.WriteSnapshot(run, d, nil))
		} else {
			assert.NilError(t, f.Append(d))
		}
		r.runs[run.Progress.Seq] = run
	}
	save(true)
	save(true)
	assert.NilError(t, f.WriteSnapshot(run, nil, nil)) // a run from another machine is saved like this
	assert.Check(t, is.DeepEqual(r.wantTruth(t, "whole"), []int{1, 2}))
	assert.NilError(t, f.Close())
	assert.NilError(t, os.Remove(file))
	f, _, err = journal.Open(dir, "run-1", "me")
	assert.NilError(t, err)
	assert.Check(t, is.DeepEqual(r.wantTruth(t, "none"), []int{2}), "steps without a history")
	save(false)
	save(true)
	save(true)
	assert.Check(t, is.DeepEqual(r.wantTruth(t, "later"), []int{4, 5}), "steps later")
	f.SetMaxHistory(0)
	save(true)
	save(false)
	assert.Check(t, is.DeepEqual(r.wantTruth(t, "no size"), []int{7}), "steps of a history of no size")
	save(true)
	info, err := os.Stat(file)
	assert.NilError(t, err)
	assert.Check(t, is.Equal(info.Size(), int64(0)), "what is left of it")
	assert.Check(t, is.DeepEqual(r.wantTruth(t, "no size"), []int{8}), "the run")
	assert.NilError(t, f.Close())
}

// TestHugeRunIsNotSaved checks that a run is not saved if it is too large to be read again, and that the run
// that was saved before remains.
func TestHugeRunIsNotSaved(t *testing.T) {
	dir := savedDir(t)
	f, run, err := journal.Open(dir, "run-1", "me")
	assert.NilError(t, err)
	defer f.Close()
	huge := strings.Repeat("x", 64<<20)
	step := run.Step(statetest.Epoch)
	step.Override(state.Options{Model: huge}, nil)
	assert.Check(t, is.ErrorContains(f.Append(step.Delta()), "bytes are more than the maximum of 67108864"), "want the step refused")
	run.Meta = map[string]string{"huge": huge}
	assert.Check(t, is.ErrorContains(f.WriteSnapshot(run, nil, nil), "bytes are more than the maximum of 67108864"), "want it refused")
	if now, err := journal.Read(dir, "run-1"); err != nil || now.Meta != nil {
		t.Errorf("then: got %v, want the run as it was", err)
	}
}

// TestLongHistoryIsCut checks that the beginning of a long history is dropped, even if no new snapshot is
// written. Executions before the remaining history can no longer be read.
func TestLongHistoryIsCut(t *testing.T) {
	const most = 150 << 10
	r := record(t, 4, 350, most)
	info, err := os.Stat(filepath.Join(r.dir, "run-1.journal"))
	assert.Assert(t, err == nil && info.Size() >= most/4 && info.Size() <= 2*most, "size: got %v, %v", info.Size(), err)
	if steps := r.wantTruth(t, "cut"); steps[0] < 10 || len(steps) < 40 || r.runs[steps[len(steps)-1]+1] != nil {
		t.Errorf("steps: got %d to %d", steps[0], steps[len(steps)-1])
	}
	var gone *journal.NotInHistoryError
	if _, err := journal.RunAtExecution(r.dir, "run-1", 1); !errors.As(err, &gone) || gone.Oldest < 2 {
		t.Fatalf("the first execution: got %v, want NotInHistoryError", err)
	}
	_, err = journal.RunAtExecution(r.dir, "run-1", gone.Oldest)
	assert.Check(t, err, "the oldest execution in the history: %v", err)
}
