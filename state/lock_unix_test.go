//go:build unix

package state

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"
)

func TestPipeInPlaceOfTheLockIsRefused(t *testing.T) {
	dir := t.TempDir()
	assert.NilError(t, syscall.Mkfifo(filepath.Join(dir, "run-1.lock"), 0o600))
	var bad *FileError
	if _, err := DrivenBy(dir, "run-1"); !errors.As(err, &bad) {
		t.Errorf("DrivenBy: got %v, want FileError", err)
	}
	if _, err := Create(dir, "run-1", "me"); !errors.As(err, &bad) {
		t.Errorf("Create: got %v, want FileError", err)
	}
}
