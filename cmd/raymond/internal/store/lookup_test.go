package store

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/artifacts/slots"
	"github.com/raymond-action/raymond-action/state"
)

// TestStateMustMatchTheManifest checks that the state in a checkpoint must belong to the run that
// its manifest names.
func TestStateMustMatchTheManifest(t *testing.T) {
	run := state.New(state.Run{WorkflowID: "run-1", Mark: "0123456789abcdef", Scope: "/w", Entry: "A.md", Dir: "/d", Files: map[string]string{"A.md": strings.Repeat("ab", 32)},
		Options: state.Options{MaxParallel: 1, MaxAgents: 1, MaxDepth: 1, PermissionMode: "acceptEdits"}}, "", time.Unix(1, 0))
	data, err := run.Encode()
	assert.NilError(t, err)
	dir := t.TempDir()
	assert.NilError(t, os.WriteFile(filepath.Join(dir, "state.json"), data, 0o600))
	for id, good := range map[string]bool{"run-1": true, "run-2": false} {
		_, err := readState(&slots.Found{Dir: dir, Manifest: &checkpoint.Manifest{WorkflowID: id}})
		if good != (err == nil) || !good && !strings.Contains(err.Error(), "does not match the manifest") {
			t.Errorf("manifest of %s with the state of run-1: got %v, want no error: %t", id, err, good)
		}
	}
}
