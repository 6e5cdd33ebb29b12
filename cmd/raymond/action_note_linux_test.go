package main

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/state"
)

// inTime fails the test when something waits for what never comes.
func inTime(t *testing.T, what string, do func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { do(); close(done) }()
	select {
	case <-done:
	case <-time.After(sitetest.Patience / 6):
		t.Fatalf("%s: got no end, want one at once", what)
	}
}

// TestNotesAreKeptWhateverLiesThere: an agent may put a pipe or a link where a note
// is to be, or to be made. Nothing waits for the one or follows the other.
func TestNotesAreKeptWhateverLiesThere(t *testing.T) {
	pipe := func(path string) error { return syscall.Mkfifo(path, 0o600) }
	for name, put := range map[string]func(path, victim string) error{
		"a pipe":            func(path, _ string) error { return pipe(path) },
		"a pipe on the way": func(path, _ string) error { return pipe(path + ".tmp") },
		"a link":            func(path, victim string) error { return os.Symlink(victim, path) },
		"a link on the way": func(path, victim string) error { return os.Symlink(victim, path+".tmp") },
		"a file on the way": func(path, _ string) error { return os.WriteFile(path+".tmp", []byte("{"), 0o400) },
		"a huge file":       func(path, _ string) error { return os.WriteFile(path, make([]byte, maxNote+1), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			path, victim := filepath.Join(t.TempDir(), "note.json"), filepath.Join(t.TempDir(), "victim")
			if err := os.WriteFile(victim, []byte(`{"step":"forged"}`), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := put(path, victim); err != nil {
				t.Fatal(err)
			}
			inTime(t, "reading it", func() {
				var o owed
				if err := readNote(path, &o); err == nil {
					t.Errorf("reading what is no note: got %+v, want an error", o)
				}
			})
			inTime(t, "writing it", func() {
				if err := writeNote(path, owed{Step: "s"}); err != nil {
					t.Errorf("writing: got %v, want no error", err)
				}
			})
			var got owed
			if err := readNote(path, &got); err != nil || got.Step != "s" {
				t.Errorf("note: got %+v (%v), want the step s", got, err)
			}
			if data, err := os.ReadFile(victim); err != nil || string(data) != `{"step":"forged"}` {
				t.Errorf("another file: got %q (%v), want it as it was", data, err)
			}
		})
	}
}

// TestWhatIsLeftOfARunIsNotWaitedFor: the post part reads and completes files that
// agents could replace by pipes.
func TestWhatIsLeftOfARunIsNotWaitedFor(t *testing.T) {
	top := t.TempDir()
	run := &state.Run{WorkflowID: "agent-0a1b2c3d"}
	dir := filepath.Join(top, run.WorkflowID)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"events.jsonl", chainFile, chainFile + ".tmp"} {
		if err := syscall.Mkfifo(filepath.Join(dir, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	inTime(t, "the event log", func() {
		d := &drive{o: &options{stateDir: top}, run: run, resumed: true}
		if err := d.openLog(); !errors.Is(err, files.ErrNotRegular) {
			t.Errorf("a pipe for an event log: got %v, want %v", err, files.ErrNotRegular)
		}
	})
	inTime(t, "the chain", func() {
		if c, err := readChain(dir); err == nil {
			t.Errorf("a pipe for the chain: got %+v, want an error", c)
		}
		if err := (&depot{dir: dir}).note(); err != nil {
			t.Errorf("noting the chain: got %v, want no error", err)
		}
	})
}
