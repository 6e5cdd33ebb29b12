package installtest

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"
)

// WriteProgram writes a program that a test starts, and makes the folders above it. It
// waits while anything is being started in this process, and keeps anything from being
// started: a child would inherit the open file, which can't be run then ("text file busy").
// All tests that write programs while others start them use it.
func WriteProgram(t testing.TB, path, text string) {
	t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	assert.NilError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	assert.NilError(t, os.WriteFile(path, []byte(text), 0o755))
	// A file that was there keeps its mode otherwise.
	assert.NilError(t, os.Chmod(path, 0o755))
}
