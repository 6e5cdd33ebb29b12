package session

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
	"github.com/raymond-action/raymond-action/state/journal"
)

// TestEventsReachTheDiskBeforeSnapshots checks that the old snapshot remains if the events can't be
// written to the disk.
func TestEventsReachTheDiskBeforeSnapshots(t *testing.T) {
	dir := t.TempDir()
	log, err := report.OpenEventLog(filepath.Join(dir, "events.jsonl"), "run-1")
	assert.NilError(t, err)
	store, err := journal.Create(dir, "run-1", "me")
	assert.NilError(t, err)
	defer store.Close()
	run := state.New(state.Run{WorkflowID: "run-1", Mark: "0123456789abcdef", Scope: "/w", Entry: "A.md", Dir: "/d", Files: map[string]string{"A.md": strings.Repeat("ab", 32)},
		Options: state.Options{MaxParallel: 1, MaxAgents: 1, MaxDepth: 1, PermissionMode: "acceptEdits"}}, "", time.Unix(1, 0))
	k := &syncedStore{File: store, log: log}
	assert.NilError(t, k.WriteSnapshot(run, nil))
	step := run.Step(time.Unix(2, 0))
	step.Begin()
	next := run.With(step.Delta())
	for _, e := range next.Events {
		assert.NilError(t, log.Report(e))
	}
	assert.NilError(t, log.Close()) // a closed log can't be synced
	assert.Check(t, k.WriteSnapshot(next, nil) != nil, "snapshot whose events are not on the disk: got no error, want one")
	if now, err := journal.Read(dir, "run-1"); err != nil || now.Progress.Seq != run.Progress.Seq {
		t.Errorf("run after that: got %+v (%v), want the one of step %d", now, err, run.Progress.Seq)
	}
}
