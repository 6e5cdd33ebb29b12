//go:build unix

package proc

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
	"gotest.tools/v3/assert"
)

// TestOutputIsLostWithItsReader checks that a pipe's output counts as lost only after its reader was
// closed.
func TestOutputIsLostWithItsReader(t *testing.T) {
	r, w, err := os.Pipe()
	assert.NilError(t, err)
	defer w.Close()
	assert.Check(t, hasReader(w), "a pipe that is read has no reader")
	r.Close()
	assert.Check(t, !hasReader(w), "a pipe that nobody reads has a reader")
	if isLost(unix.POLLNVAL) { // macOS reports POLLNVAL for /dev/null
		t.Error("a device has no reader")
	}
}
