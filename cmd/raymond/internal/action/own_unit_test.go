//go:build unix

package action

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestFoldersOfOursAreOpenedAgain, with what is in them; links lead nowhere.
func TestFoldersOfOursAreOpenedAgain(t *testing.T) {
	top, other := filepath.Join(t.TempDir(), "own"), filepath.Join(t.TempDir(), "other")
	file := filepath.Join(top, "run", "state.json")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{file, other} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(other, filepath.Join(top, "link")); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{file, filepath.Dir(file), top, other} {
		if err := os.Chmod(path, 0); err != nil {
			t.Fatal(err)
		}
	}
	reopen(top)
	for path, want := range map[string]fs.FileMode{top: 0o700, filepath.Dir(file): 0o700, file: 0o600, other: 0} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: got %v, %v, want mode %o", path, info, err, want)
		}
	}
}
