package state_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/raymond-action/raymond-action/state"
)

// TestEarlierSchemasAreContinued: the snapshot and journal of a run that an earlier
// version left in its middle are read, continued and saved as files of this one.
func TestEarlierSchemasAreContinued(t *testing.T) {
	recorded, err := filepath.Glob("testdata/schema*")
	if err != nil || len(recorded) != state.Schema-1 {
		t.Fatalf("recorded runs: got %q (%v), want one of each of the %d earlier schemas", recorded, err, state.Schema-1)
	}
	for _, from := range recorded {
		dir := t.TempDir()
		must(t, os.CopyFS(dir, os.DirFS(from)))
		file, run, err := state.Open(dir, "run-1", "test")
		if err != nil {
			t.Fatalf("%s: %v", from, err)
		}
		if run.Progress.Seq != 24 || len(run.Ledger) == 0 {
			t.Errorf("%s: got step %d with %d ledger entries, want step 24 with some", from, run.Progress.Seq, len(run.Ledger))
		}
		continueRun(t, run)
		step := run.Step(epoch.Add(time.Hour))
		step.Resume(nil)
		must(t, file.Fold(run.With(step.Delta()), nil, nil))
		must(t, file.Close())
		data, err := os.ReadFile(filepath.Join(dir, "run-1.json"))
		if err != nil || !strings.Contains(string(data), fmt.Sprintf(`"schema": %d,`, state.Schema)) {
			t.Errorf("%s: saved as (%v):\n%.60s\nwant schema %d", from, err, data, state.Schema)
		}
		if _, err := state.Read(dir, "run-1"); err != nil {
			t.Errorf("%s: read again: %v", from, err)
		}
	}
}
