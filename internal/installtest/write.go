package installtest

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"
)

// WriteProgram writes an executable file, and creates the directories above it. While the file is open, it
// holds ForkLock, so that no child process inherits the open file. Otherwise running the program could fail
// with "text file busy". All tests that write programs must use WriteProgram.
func WriteProgram(t testing.TB, path, text string) {
	t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	assert.NilError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	assert.NilError(t, os.WriteFile(path, []byte(text), 0o755))
	// WriteFile doesn't change the mode of an existing file.
	assert.NilError(t, os.Chmod(path, 0o755))
}
