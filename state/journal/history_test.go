package journal_test

import (
	"bytes"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/state"
	"github.com/raymond-action/raymond-action/state/journal"
	"github.com/raymond-action/raymond-action/state/statetest"
)

// recording is a random run that was saved, with copies of the run after each step.
type recording struct {
	dir   string
	runs  []*state.Run // the run after each step, by the number of the step
	begun map[int]int  // for each execution, the number of the step that started it
}

// record saves a random run with a snapshot from time to time. The run has no more steps than the parameter
// steps. most is the maximum size of its journal in bytes. After each step, record calls the functions in
// each with the directory and the runs before and after the step.
func record(t *testing.T, seed uint64, steps int, most int64, each ...func(dir string, run, next *state.Run)) recording {
	t.Helper()
	return recordWith(t, &statetest.Walker{Rand: rand.New(rand.NewPCG(seed, 7))}, steps, most, each...)
}

// recordWith does the same as record, with the steps that w makes.
func recordWith(t *testing.T, w *statetest.Walker, steps int, most int64, each ...func(dir string, run, next *state.Run)) recording {
	t.Helper()
	r := recording{dir: t.TempDir(), runs: make([]*state.Run, steps+2), begun: map[int]int{}}
	f, err := journal.Create(r.dir, "run-1", "me")
	assert.NilError(t, err)
	f.SetMaxHistory(most)
	run := statetest.NewRun()
	run.Options.KeepGoing, run.Options.BudgetUSD = true, 0
	for n := 1; n <= steps && len(run.Agents) > 0; n++ {
		d := w.Step(run)
		next := run.With(d)
		if len(next.Agents) == 0 {
			d.Progress.Status = state.Completed
			next = run.With(d)
		}
		if n > 1 && w.Rand.IntN(8) == 0 {
			assert.NilError(t, f.WriteSnapshot(run, nil, nil)) // a cancelled run is saved like this
		}
		for exec := run.Progress.Iterations + 1; exec <= next.Progress.Iterations; exec++ {
			r.begun[exec] = n
		}
		if n == 1 || w.Rand.IntN(6) == 0 || next.Progress.Status != state.Running {
			assert.NilError(t, f.WriteSnapshot(next, d, nil))
		} else {
			assert.NilError(t, f.Append(d))
		}
		for _, f := range each {
			f(r.dir, run, next)
		}
		run, r.runs[n] = next, next
	}
	assert.NilError(t, f.Close())
	return r
}

// diffRuns returns the difference between the state files of two runs, or "" if they are equal.
func diffRuns(t *testing.T, want, got *state.Run) string {
	t.Helper()
	return cmp.Diff(string(statetest.Encode(t, want)), string(statetest.Encode(t, got)))
}

// wantTruth checks that every step in the history of a recorded run is correct. It returns the numbers of the
// steps.
func (r recording) wantTruth(t *testing.T, what string) []int {
	t.Helper()
	var steps []int
	for step, err := range journal.History(r.dir, "run-1") {
		assert.NilError(t, err)
		after := step.After()
		assert.Equal(t, diffRuns(t, r.runs[after.Progress.Seq], after), "", "%s: the run after step %d (-was +history)", what, after.Progress.Seq)
		steps = append(steps, after.Progress.Seq)
	}
	return steps
}

// TestRunIsFoundAtEachExecution checks that the history contains all steps although snapshots were written,
// and that RunAtExecution returns the run after the start of each execution.
func TestRunIsFoundAtEachExecution(t *testing.T) {
	r := record(t, 3, 80, journal.DefaultHistory)
	for i, seq := range r.wantTruth(t, "whole") {
		assert.Check(t, is.Equal(seq, i+1), "step")
	}
	for exec, step := range r.begun {
		run, err := journal.RunAtExecution(r.dir, "run-1", exec)
		assert.NilError(t, err)
		diff := diffRuns(t, r.runs[step], run)
		assert.Check(t, is.Equal(diff, ""), "execution %d (-saved +read):\n%s", exec, diff)
	}
	for _, n := range []int{-1, 0, len(r.begun) + 1} {
		_, err := journal.RunAtExecution(r.dir, "run-1", n)
		assert.Check(t, is.ErrorIs(err, journal.ErrNeverStarted), "execution %d", n)
	}
}

// FuzzSavedRunsAreReadBack checks that all steps can be read back from the history, and all events from their
// log lines, whatever agents write and whenever snapshots are written.
func FuzzSavedRunsAreReadBack(f *testing.F) {
	for seed, text := range []string{"", "\xff\x00", "<a>&\u2028\ud7ff\r\n", `\ud800","k":null`} {
		f.Add(uint64(seed), text)
	}
	f.Fuzz(func(t *testing.T, seed uint64, text string) {
		r := recordWith(t, &statetest.Walker{Rand: rand.New(rand.NewPCG(seed, 5)), Text: text}, 30, journal.DefaultHistory)
		for i, seq := range r.wantTruth(t, "whole") {
			assert.Check(t, is.Equal(seq, i+1), "step")
			for _, e := range r.runs[seq].Events {
				line, err := e.Line("run-1")
				assert.NilError(t, err)
				var back state.Event
				assert.NilError(t, back.UnmarshalJSON(line), "%s", line)
				again, err := back.Line("run-1")
				assert.NilError(t, err)
				assert.Equal(t, string(again), string(line))
			}
		}
	})
}

// TestRerunIsARun checks that a rerun can begin at each execution of a run. The new run must be valid,
// have no cost and no executions, and be about to start that execution with the same number, agent and
// state.
func TestRerunIsARun(t *testing.T) {
	for seed := range uint64(4) {
		r := record(t, seed, 60, journal.DefaultHistory)
		for exec, step := range r.begun {
			was := r.runs[step]
			before := string(statetest.Encode(t, was))
			run, err := state.Rerun(was, exec, state.RerunParams{WorkflowID: "run-2", Mark: "fedcba9876543210", Now: statetest.Epoch.Add(time.Hour)})
			assert.NilError(t, err)
			assert.NilError(t, run.Validate())
			assert.Equal(t, string(statetest.Encode(t, was)), before, "seed %d: a rerun from %d changed the run", seed, exec)
			if run.InheritedUSD != was.Progress.TotalUSD || run.Progress.TotalUSD != 0 || run.OwnExecutions() != 0 {
				t.Errorf("seed %d: a rerun from %d has cost %s, and %s are inherited of %s", seed, exec, run.Progress.TotalUSD, run.InheritedUSD, was.Progress.TotalUSD)
			}
			for _, a := range run.Agents {
				if a.Exec != nil && a.Exec.Iteration >= exec {
					t.Errorf("seed %d: execution %d of %s is under way in a rerun from %d", seed, a.Exec.Iteration, a.ID, exec)
				}
			}
			for _, old := range was.Agents {
				if old.Exec == nil || old.Exec.Iteration != exec {
					continue
				}
				a, _ := run.Agent(old.ID)
				next := []any{a.State, a.Status, a.Exec == nil, run.Progress.Iterations, run.Progress.LastBegun}
				assert.Check(t, is.DeepEqual(next, []any{old.State, state.Ready, true, exec - 1, old.N - 1}), "what is next")
			}
		}
	}
}

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

// TestFilesEqualMemory makes random steps. After each step it checks that the run that is read from snapshot
// and journal is valid and equals the run in memory. It also checks that no step changes an earlier run or
// earlier entries of the ledger, and that no two agents have the same name.
func TestFilesEqualMemory(t *testing.T) {
	for seed := range uint64(walks) {
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
