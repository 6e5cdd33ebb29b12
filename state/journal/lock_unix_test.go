//go:build unix

package journal

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/raymond-action/raymond-action/state"
)

// TestPipeAsLockIsRefused checks that a named pipe in place of the lock file is rejected and not opened.
func TestPipeAsLockIsRefused(t *testing.T) {
	dir := t.TempDir()
	assert.NilError(t, syscall.Mkfifo(filepath.Join(dir, "run-1.lock"), 0o600))
	var bad *state.FileError
	_, err := FindDriver(dir, "run-1")
	assert.Check(t, errors.As(err, &bad), "FindDriver: got %v, want state.FileError", err)
	_, err = Create(dir, "run-1", "me")
	assert.Check(t, errors.As(err, &bad), "Create: got %v, want state.FileError", err)
}
