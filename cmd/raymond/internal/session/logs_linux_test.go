package session

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/state"
)

// TestAPipeForAnEventLogIsNotWaitedFor: agents could replace the log by one.
func TestAPipeForAnEventLogIsNotWaitedFor(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, EventsFile), 0o600); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := OpenLog(dir, &state.Run{WorkflowID: "agent-0a1b2c3d"}, nil, nil)
		done <- err
	}()
	select {
	case err := <-done:
		if !errors.Is(err, files.ErrNotRegular) {
			t.Errorf("a pipe for an event log: got %v, want %v", err, files.ErrNotRegular)
		}
	case <-time.After(2 * time.Minute):
		t.Error("a pipe for an event log: got no end, want one at once")
	}
}
