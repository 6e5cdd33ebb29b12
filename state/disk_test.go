//go:build unix

package state

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// watchDisk notes what is brought to the disk, by the names of files and folders below
// dir, and how many bytes of a file there are.
func watchDisk(t *testing.T, dir string) *[]string {
	t.Helper()
	var seen []string
	t.Cleanup(func() { toDisk = (*os.File).Sync })
	toDisk = func(f *os.File) error {
		info, err := f.Stat()
		if err != nil {
			t.Error(err)
		}
		name, err := filepath.Rel(dir, f.Name())
		if err != nil {
			t.Error(err)
		}
		if !info.IsDir() {
			name = fmt.Sprint(name, " ", info.Size() > 0)
		}
		seen = append(seen, name)
		return f.Sync()
	}
	return &seen
}

// tiny is a run of one state.
func tiny() *Run {
	return New(Run{WorkflowID: "run-1", Mark: "0123456789abcdef", Scope: "/w", Entry: "A.md", Dir: "/d", Files: map[string]string{"A.md": strings.Repeat("ab", 32)},
		Options: Options{MaxParallel: 1, MaxAgents: 1, MaxDepth: 1, PermissionMode: "acceptEdits"}}, "", time.Unix(1, 0))
}

// TestWhatIsSavedIsOnTheDisk: the content of a snapshot before it has its name, the
// folder after that; each line of the journal, and the folder when the journal is new.
func TestWhatIsSavedIsOnTheDisk(t *testing.T) {
	dir := t.TempDir()
	f, err := Create(dir, "run-1", "me")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	seen := watchDisk(t, dir)
	run := tiny()
	if err := f.Fold(run, nil); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		step := run.Step(time.Unix(2, 0))
		d := step.Delta()
		if err := f.Append(d); err != nil {
			t.Fatal(err)
		}
		run.Apply(d)
	}
	want := []string{"run-1.json.tmp true", ".", ".", "run-1.journal true", "run-1.journal true"}
	if !slices.Equal(*seen, want) {
		t.Errorf("brought to the disk by a snapshot and two steps: got %q, want %q", *seen, want)
	}
}

// TestACrashInASaveLeavesOneWholeRun: the old snapshot is there, whole, until the new
// one is.
func TestACrashInASaveLeavesOneWholeRun(t *testing.T) {
	dir := t.TempDir()
	f, err := Create(dir, "run-1", "me")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	run := tiny()
	if err := f.Fold(run, nil); err != nil {
		t.Fatal(err)
	}
	next := run.With(run.Step(time.Unix(2, 0)).Delta())
	seq := func() int {
		now, err := Read(dir, "run-1")
		if err != nil {
			t.Fatalf("in the midst of a save: %v", err)
		}
		return now.Progress.Seq
	}
	err = f.Fold(next, func() error {
		if got := seq(); got != run.Progress.Seq {
			t.Errorf("step of the run before its new snapshot is in place: got %d, want %d", got, run.Progress.Seq)
		}
		return nil
	})
	if got := seq(); err != nil || got != next.Progress.Seq {
		t.Errorf("step of the run after a save: got %d (%v), want %d", got, err, next.Progress.Seq)
	}
}
