package journal_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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
