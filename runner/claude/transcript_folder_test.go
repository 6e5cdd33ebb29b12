package claude

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/raymond-action/raymond-action/runner"
)

const sessionUUID = "0f8fad5b-d9cb-469f-a165-70867728950e"

// TestRemovedDirectoriesKeepTheirSessions checks that a conversation can be placed and found although
// its working directory doesn't exist. A worktree may be removed before its conversation is stored, and
// may not exist yet when the conversation is restored.
func TestRemovedDirectoriesKeepTheirSessions(t *testing.T) {
	b, dir, file := homeWith(t, sessionUUID, prompted)
	stored := filepath.Join(t.TempDir(), "stored")
	assert.NilError(t, errors.Join(os.WriteFile(stored, []byte(prompted), 0o600), os.RemoveAll(dir), os.RemoveAll(filepath.Dir(file))))
	assert.NilError(t, b.Place(runner.Conversation{ID: sessionUUID, Dir: dir}, stored))
	info, err := os.Stat(filepath.Dir(file))
	assert.Check(t, err == nil && info.Mode().Perm() == 0o700, "the folder that was made: got %v, %v, want mode 0700", info, err)
	got, ok := b.Find(runner.Conversation{ID: sessionUUID}, []string{"/elsewhere", dir})
	assert.Check(t, ok && got.Path == file && got.Dir == dir, "got %+v, %v, want %s of %s", got, ok, file, dir)
}
