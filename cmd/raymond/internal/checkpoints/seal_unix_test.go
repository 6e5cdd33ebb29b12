//go:build unix

package checkpoints

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
)

// note is a value that tests keep.
type note struct {
	Step string `json:"step"`
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
		"a huge file": func(path, _ string) error {
			return os.WriteFile(path, []byte(`{"step":"`+strings.Repeat("x", maxNote)+`"}`), 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			path, victim := filepath.Join(t.TempDir(), "note.json"), filepath.Join(t.TempDir(), "victim")
			assert.NilError(t, os.WriteFile(victim, []byte(`{"step":"forged"}`), 0o600))
			assert.NilError(t, put(path, victim))
			var n note // nothing waits: go test ends what would
			assert.Check(t, ReadNote(path, &n) != nil, "reading what is no note: got %+v, want an error", n)
			assert.Check(t, WriteNote(path, note{"s"}), "writing")
			var got note
			if err := ReadNote(path, &got); err != nil || got.Step != "s" {
				t.Errorf("note: got %+v (%v), want the step s", got, err)
			}
			if data, err := os.ReadFile(victim); err != nil || string(data) != `{"step":"forged"}` {
				t.Errorf("another file: got %q (%v), want it as it was", data, err)
			}
		})
	}
}

// TestANoteThatWasNeverWritten is told from one that can't be read.
func TestANoteThatWasNeverWritten(t *testing.T) {
	var got note
	assert.Check(t, is.ErrorIs(ReadNote(filepath.Join(t.TempDir(), "note.json"), &got), fs.ErrNotExist))
}
