package measuretest_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/internal/measuretest"
)

// TestRun: what a command and its children have used is there, and an error has what
// the command wrote to stderr.
func TestRun(t *testing.T) {
	used := measuretest.Run(t, exec.Command("/bin/bash", "-c", "printf %1000s x; /bin/bash -c 'for ((i = 0; i < 20000; i++)); do :; done'"))
	if used.Wrote < 1000 || used.Wrote > 2000 || used.CPU <= 0 || used.Wall <= 0 {
		t.Errorf("used by a loop and a line of 1000: got %+v, want the bytes and some time", used)
	}
	if _, err := measuretest.Try(exec.Command("/bin/bash", "-c", "echo why >&2; exit 3")); err == nil || !strings.Contains(err.Error(), "why") {
		t.Errorf("a command that fails: got %v, want what it said", err)
	}
}
