//go:build unix

package files

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

// value is a value for these tests.
type value struct {
	Step string `json:"step"`
}

// TestJSONSurvivesPlantedFiles checks that WriteJSON and ReadJSON neither block on a pipe nor follow
// a link that an agent has put in the place of the file or its temporary file.
func TestJSONSurvivesPlantedFiles(t *testing.T) {
	pipe := func(path string) error { return syscall.Mkfifo(path, 0o600) }
	for name, put := range map[string]func(path, victim string) error{
		"a pipe":            func(path, _ string) error { return pipe(path) },
		"a pipe on the way": func(path, _ string) error { return pipe(path + ".tmp") },
		"a link":            func(path, victim string) error { return os.Symlink(victim, path) },
		"a link on the way": func(path, victim string) error { return os.Symlink(victim, path+".tmp") },
		"a file on the way": func(path, _ string) error { return os.WriteFile(path+".tmp", []byte("{"), 0o400) },
		"a huge file": func(path, _ string) error {
			return os.WriteFile(path, []byte(`{"step":"`+strings.Repeat("x", maxJSON)+`"}`), 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			path, victim := filepath.Join(t.TempDir(), "value.json"), filepath.Join(t.TempDir(), "victim")
			assert.NilError(t, os.WriteFile(victim, []byte(`{"step":"forged"}`), 0o600))
			assert.NilError(t, put(path, victim))
			var n value // a call that blocks makes go test time out
			assert.Check(t, ReadJSON(path, &n) != nil, "reading what is no JSON: got %+v, want an error", n)
			assert.Check(t, WriteJSON(path, value{"s"}), "writing")
			var got value
			if err := ReadJSON(path, &got); err != nil || got.Step != "s" {
				t.Errorf("value: got %+v (%v), want the step s", got, err)
			}
			if data, err := os.ReadFile(victim); err != nil || string(data) != `{"step":"forged"}` {
				t.Errorf("another file: got %q (%v), want it as it was", data, err)
			}
		})
	}
}

// TestMissingFileIsDistinguished checks that a missing file is distinguished from an unreadable one.
func TestMissingFileIsDistinguished(t *testing.T) {
	var got value
	assert.Check(t, is.ErrorIs(ReadJSON(filepath.Join(t.TempDir(), "value.json"), &got), fs.ErrNotExist))
}
