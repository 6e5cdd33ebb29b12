//go:build linux && world

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
