//go:build unix

package job

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestPayloadIsNoPipe: nobody waits for the other end of one.
func TestPayloadIsNoPipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := ReadEvent(env("GITHUB_EVENT_NAME", "push", "GITHUB_EVENT_PATH", pipe))
	if err == nil || !strings.Contains(err.Error(), "is no regular file") {
		t.Errorf("got %v, want an error that says that it is no regular file", err)
	}
}

// TestPipeInPlaceOfACommandFile: comparing does not wait for it, and it goes.
func TestPipeInPlaceOfACommandFile(t *testing.T) {
	s := newStep(t)
	f := s.guard()
	s.remove("GITHUB_ENV")
	if err := syscall.Mkfifo(s.path("GITHUB_ENV"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.wantChanged(f, "GITHUB_ENV")
	s.wantContent("GITHUB_ENV", "")
}
