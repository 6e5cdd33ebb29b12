package state_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/raymond-action/raymond-action/state"
)

// wantTruth checks that all that the history of a recorded run tells is as it was, and returns
// the steps.
func (r recorded) wantTruth(t *testing.T, what string) []int {
	t.Helper()
	var steps []int
	for step, err := range state.ReadHistory(r.dir, "run-1") {
		must(t, err)
		after := step.After()
		if diff := diffRuns(t, r.runs[after.Progress.Seq], after); diff != "" {
			t.Fatalf("%s: the run after step %d (-was +history):\n%s", what, after.Progress.Seq, diff)
		}
		steps = append(steps, after.Progress.Seq)
	}
	return steps
}

// TestAHistoryNeverLies states that nothing is told that was not so, whatever has happened to
// the file, and that the run is there as it is now.
func TestAHistoryNeverLies(t *testing.T) {
	r := record(t, 3, 40)
	file := filepath.Join(r.dir, "run-1.history")
	whole := readFile(t, file)
	all := r.wantTruth(t, "untouched")
	if len(all) < 20 {
		t.Fatalf("got %d steps, want enough to damage", len(all))
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 150 {
		at := rnd.IntN(len(whole))
		damaged := bytes.Clone(whole)
		switch rnd.IntN(3) {
		case 0:
			damaged[at] ^= byte(1 << rnd.IntN(8))
		case 1:
			damaged = damaged[:at]
		case 2:
			end := at + bytes.IndexByte(damaged[at:], '\n') + 1
			begin := bytes.LastIndexByte(damaged[:at], '\n') + 1
			damaged = append(damaged[:begin], damaged[end:]...) // a line is missing
		}
		must(t, os.WriteFile(file, damaged, 0o600))
		steps := r.wantTruth(t, "damaged")
		if len(steps) == 0 || steps[len(steps)-1] != all[len(all)-1] {
			t.Fatalf("steps of a damaged history: got %v, want the last of %v at least", steps, all)
		}
	}
}

// TestAHistoryThatIsAhead of its snapshot, since a process was killed between the two, tells
// nothing of what was never saved, and the next process cuts it off.
func TestAHistoryThatIsAhead(t *testing.T) {
	dir := t.TempDir()
	f, err := state.Create(dir, "run-1", "me")
	must(t, err)
	r := recorded{dir: dir, runs: make([]*state.Run, 9)}
	run := newRun()
	do := func(fold bool, begin func(*state.Step)) {
		step := run.Step(epoch)
		begin(step)
		d := step.Delta()
		if run = run.With(d); fold {
			must(t, f.Fold(run, d, nil))
		} else {
			must(t, f.Append(d))
		}
		r.runs[run.Progress.Seq] = run
	}
	do(true, func(s *state.Step) { s.Begin() })
	do(false, func(s *state.Step) { s.ReachDeadline(1) })
	json, journal := readFile(t, filepath.Join(dir, "run-1.json")), readFile(t, filepath.Join(dir, "run-1.journal"))
	do(true, func(s *state.Step) { s.ReachDeadline(2) })
	must(t, f.Close())
	must(t, os.WriteFile(filepath.Join(dir, "run-1.json"), json, 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "run-1.journal"), journal, 0o600))
	equal(t, "steps after the crash", r.wantTruth(t, "ahead"), []int{1, 2})
	f, run, err = state.Open(dir, "run-1", "me")
	must(t, err)
	do(true, func(s *state.Step) { s.ReachDeadline(3) })
	do(false, func(s *state.Step) { s.ReachDeadline(4) })
	must(t, f.Close())
	equal(t, "steps of the next process", r.wantTruth(t, "cut off"), []int{1, 2, 3, 4})
}

// TestNoHistory: a run goes on where its history can't be written, and the history when it can,
// with a gap. A run that is to have none has none.
func TestNoHistory(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "run-1.history")
	must(t, os.MkdirAll(filepath.Join(file, "x"), 0o700))
	f, err := state.Create(dir, "run-1", "me")
	must(t, err)
	r := recorded{dir: dir, runs: make([]*state.Run, 9)}
	run := newRun()
	fold := func() {
		step := run.Step(epoch)
		step.ReachDeadline(1)
		d := step.Delta()
		run = run.With(d)
		must(t, f.Fold(run, d, nil))
		r.runs[run.Progress.Seq] = run
	}
	fold()
	fold()
	equal(t, "steps without a history", r.wantTruth(t, "a folder"), []int{2})
	must(t, os.RemoveAll(file))
	fold()
	fold()
	equal(t, "steps", r.wantTruth(t, "later"), []int{3, 4})
	f.SetHistory(0)
	fold()
	if _, err := os.Lstat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("history of no size: got %v", err)
	}
	must(t, f.Close())
}

// TestALongHistory is cut at its beginning, and an execution from there is not kept any more.
func TestALongHistory(t *testing.T) {
	const most = 150 << 10
	dir := t.TempDir()
	f, err := state.Create(dir, "run-1", "me")
	must(t, err)
	f.SetHistory(most)
	w := &walker{rnd: rand.New(rand.NewPCG(4, 7)), now: epoch}
	run := newRun()
	run.Options.KeepGoing, run.Options.BudgetUSD = true, 0
	r := recorded{dir: dir, runs: make([]*state.Run, 351)}
	for n := 1; n <= 350 && len(run.Agents) > 0; n++ {
		d := w.step(run)
		if next := run.With(d); len(next.Agents) == 0 {
			break
		}
		run = run.With(d)
		r.runs[n] = run
		if n%10 == 1 {
			must(t, f.Fold(run, d, nil))
		} else {
			must(t, f.Append(d))
		}
	}
	must(t, f.Close())
	info, err := os.Stat(filepath.Join(dir, "run-1.history"))
	if err != nil || info.Size() > 2*most {
		t.Fatalf("after %d steps: got %v, %v", run.Progress.Seq, info.Size(), err)
	}
	steps := r.wantTruth(t, "cut")
	if steps[0] < 10 || steps[len(steps)-1] != run.Progress.Seq {
		t.Errorf("steps: got %d to %d of %d", steps[0], steps[len(steps)-1], run.Progress.Seq)
	}
	var gone *state.NotKeptError
	if _, err := state.Started(dir, "run-1", 1); !errors.As(err, &gone) || gone.Oldest < 2 {
		t.Fatalf("the first execution: got %v, want that it is not kept", err)
	}
	if _, err := state.Started(dir, "run-1", gone.Oldest); err != nil {
		t.Errorf("the oldest one that is kept: %v", err)
	}
}
