//go:build linux && world

package acttest

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"

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

// processes returns the ids of what has the machine's folder in its environment.
func (m *machine) processes() []int {
	var pids []int
	entries, _ := os.ReadDir("/proc") // Glob would list the folder of each process, too
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		data, _ := os.ReadFile("/proc/" + e.Name() + "/environ") // empty of one that has ended
		if err == nil && bytes.Contains(data, []byte(m.root)) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// kill ends what runs on the machine, and what that starts meanwhile.
func (m *machine) kill() {
	for pids := m.processes(); len(pids) > 0; pids = m.processes() {
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended by itself
		}
	}
}

// remove deletes the machine's files. Some of what runs on it makes folders that
// can't be written to.
func (m *machine) remove() {
	_ = filepath.WalkDir(m.root, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			return os.Chmod(path, 0o700)
		}
		return nil
	})
	assert.Check(m.t, os.RemoveAll(m.root), "remove the machine")
}
