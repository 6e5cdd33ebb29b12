//go:build unix

package files

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"testing/fstest"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
)

func TestFSOpensFilesAndFoldersOnly(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	victim := place(t, "secret")
	for _, err := range []error{
		os.WriteFile(at("file"), []byte("text"), 0o600), os.Mkdir(at("folder"), 0o700), os.WriteFile(at("folder/inner"), []byte("more"), 0o600),
		os.Symlink("folder/inner", at("link")), os.Symlink(victim, at("out")), syscall.Mkfifo(at("pipe"), 0o600), os.Symlink("pipe", at("to-pipe")),
	} {
		assert.NilError(t, err)
	}
	root, err := os.OpenRoot(dir)
	assert.NilError(t, err)
	defer root.Close()
	fsys := FS(root)
	for name, want := range map[string]string{"file": "text", "folder/inner": "more", "link": "more"} {
		if got, err := fs.ReadFile(fsys, name); err != nil || string(got) != want {
			t.Errorf("%s: got %q, %v, want %q", name, got, err, want)
		}
	}
	soon(t, "a pipe", func() {
		for _, name := range []string{"pipe", "to-pipe"} {
			_, err := fsys.Open(name)
			assert.Check(t, is.ErrorIs(err, ErrNotRegular), name)
		}
		got, err := fs.ReadFile(fsys, "out")
		assert.Check(t, err != nil, "a link out of the folder: got %q", got)
	})
	for _, name := range []string{"pipe", "to-pipe", "out"} {
		assert.NilError(t, os.Remove(at(name)))
	}
	assert.Check(t, fstest.TestFS(fsys, "file", "folder/inner", "link"))
}
