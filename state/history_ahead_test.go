package state_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/raymond-action/raymond-action/state"
)

// TestAHistoryTellsNoStepThatWasNotSaved: what is in it beyond the snapshot never was.
func TestAHistoryTellsNoStepThatWasNotSaved(t *testing.T) {
	dir := t.TempDir()
	f, err := state.Create(dir, "run-1", "me")
	must(t, err)
	run, file := newRun(), filepath.Join(dir, "run-1.json")
	var first []byte
	for n := range 2 {
		step := run.Step(epoch)
		step.ReachDeadline(1)
		d := step.Delta()
		run = run.With(d)
		must(t, f.Fold(run, d, nil))
		if n == 0 {
			first = readFile(t, file)
		}
	}
	must(t, f.Close())
	must(t, os.WriteFile(file, first, 0o600))
	for step, err := range state.ReadHistory(dir, "run-1") {
		must(t, err)
		equal(t, "step that is told", step.After().Progress.Seq, 1)
	}
}
