package proc

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/internal/cage"
)

// TestNothingLeavesACageBesideAnother: whose a process is that has left its group, its
// session and its environment is told by the mark of its cage, also while an older child
// runs from which it might come as well.
func TestNothingLeavesACageBesideAnother(t *testing.T) {
	dir := t.TempDir()
	older := Options{
		Path: "bash", Args: []string{"-c", "echo $$ > new; mv new older; exec sleep 1000"}, Dir: dir, Env: os.Environ(),
		Mark: t.Name() + ".2", Cage: cage.New(cage.Policy{Writable: []string{dir, os.DevNull}}),
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		_, err := Run(ctx, older)
		ended <- err
	}()
	exit, _ := runCaged(t, dir, `until [ -e older ]; do :; done
		(setsid env -i /bin/bash -c '(echo $BASHPID > new; mv new pid; exec /bin/sleep 1000) &' &)
		until [ -e pid ]; do :; done`)
	if exit.Code != 0 {
		t.Errorf("got %+v, want it to end by itself", exit)
	}
	for name, want := range map[string]bool{"older": true, "pid": false} {
		pid, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		_, err = os.Stat("/proc/" + strings.TrimSpace(string(pid)))
		if alive := !errors.Is(err, fs.ErrNotExist); alive != want {
			t.Errorf("process %q: got it alive: %t, want %t", name, alive, want)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
