//go:build unix

package job

import (
	"syscall"
	"testing"

	"gotest.tools/v3/assert"
)

// TestPipeIsRemoved checks that Verify removes a pipe at the path of a command file, without blocking.
func TestPipeIsRemoved(t *testing.T) {
	s := newStep(t)
	f := s.guard()
	s.remove("GITHUB_ENV")
	assert.NilError(t, syscall.Mkfifo(s.path("GITHUB_ENV"), 0o600))
	s.wantChanged(f, "GITHUB_ENV")
	s.wantContent("GITHUB_ENV", "")
}
