package session

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
)

// TestEventsAreOnTheDiskBeforeTheirSteps are in a snapshot: where they can't be, the old one stays.
func TestEventsAreOnTheDiskBeforeTheirSteps(t *testing.T) {
	dir := t.TempDir()
	log, err := report.OpenLog(filepath.Join(dir, "events.jsonl"), "run-1")
	if err != nil {
		t.Fatal(err)
	}
	store, err := state.Create(dir, "run-1", "me")
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	run := state.New(state.Run{WorkflowID: "run-1", Mark: "0123456789abcdef", Scope: "/w", Entry: "A.md", Dir: "/d", Files: map[string]string{"A.md": strings.Repeat("ab", 32)},
		Options: state.Options{MaxParallel: 1, MaxAgents: 1, MaxDepth: 1, PermissionMode: "acceptEdits"}}, "", time.Unix(1, 0))
	k := &keeper{File: store, log: log}
	if err := k.Fold(run, nil); err != nil {
		t.Fatal(err)
	}
	step := run.Step(time.Unix(2, 0))
	step.Begin()
	next := run.With(step.Delta())
	for _, e := range next.Events {
		if err := log.Report(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := log.Close(); err != nil { // what can't be brought to the disk any more
		t.Fatal(err)
	}
	if err := k.Fold(next, nil); err == nil {
		t.Error("snapshot whose events are not on the disk: got no error, want one")
	}
	if now, err := state.Read(dir, "run-1"); err != nil || now.Progress.Seq != run.Progress.Seq {
		t.Errorf("run after that: got %+v (%v), want the one of step %d", now, err, run.Progress.Seq)
	}
}
