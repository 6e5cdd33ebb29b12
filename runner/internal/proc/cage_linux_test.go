package proc

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/raymond-action/raymond-action/internal/cage"
)

// TestNothingLeavesACage: a process that goes into another group, forks twice and
// empties its environment is ended with the child that it comes from.
func TestNothingLeavesACage(t *testing.T) {
	dir := t.TempDir()
	pidFile := filepath.Join(dir, "pid")
	script := `import os,sys,time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execve("/bin/bash", ["bash", "-c", "echo $$ > ` + pidFile + `.new; mv ` + pidFile + `.new ` + pidFile + `; exec sleep 1000"], {})
    os._exit(0)
while not os.path.exists("` + pidFile + `"): time.sleep(0.01)
`
	exit, err := Run(context.Background(), Options{
		Path: "python3", Args: []string{"-c", script}, Env: os.Environ(), MarkVar: "RAYMOND_TEST_MARK", Mark: t.Name() + ".1",
		Cage: cage.New(cage.Policy{Writable: []string{dir, os.DevNull}, Network: cage.Network{IsOpen: true}}),
	})
	if err != nil || exit.Code != 0 || exit.Swept != 1 || exit.Left != 0 {
		t.Errorf("got %+v, %v, want one process that was left and ended", exit, err)
	}
	data, err := os.ReadFile(pidFile)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat("/proc/" + string(data[:len(data)-1])); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("process %s: got %v, want it gone", data, err)
	}
}

// TestCagedProgramsThatAreMissing: errors are those of a start without a cage.
func TestCagedProgramsThatAreMissing(t *testing.T) {
	c := cage.New(cage.Policy{})
	for _, path := range []string{"/nowhere/program"} {
		_, err := Run(context.Background(), Options{Path: path, Mark: t.Name() + ".1", Cage: c})
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("start of %s: got %v, want that it doesn't exist", path, err)
		}
	}

}
