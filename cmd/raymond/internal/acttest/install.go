package acttest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/raymond-action/raymond-action/internal/installtest"
)

// Install returns the path of act. The first call on a machine builds it, which
// may take minutes. It ends the test when that does not work, naming the command
// to run by hand.
func Install(t testing.TB) string {
	t.Helper()
	act := installtest.GoTool{
		Name: "act", Dir: filepath.Join(Root(t), ".github", "tools", "act"), Package: "github.com/nektos/act",
	}
	return act.Install(t)
}

// Root returns the folder of this repository.
func Root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for !exists(filepath.Join(dir, ".github", "tools")) {
		if dir == filepath.Dir(dir) {
			t.Fatal("the test runs outside the repository")
		}
		dir = filepath.Dir(dir)
	}
	return dir
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// remove deletes the machine's files. Some of what runs on it makes folders that
// can't be written to.
func (m *machine) remove() error {
	_ = filepath.WalkDir(m.root, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			return os.Chmod(path, 0o700)
		}
		return nil
	})
	return os.RemoveAll(m.root)
}
