package gemini

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/raymond-action/raymond-action/internal/cage"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/program"
)

// TestContractCaged: in a cage the CLI can keep its list of directories, whatever was there in
// place of it, or of the lock on it. It waits in ever longer intervals for a lock that it can't
// take, and says nothing.
func TestContractCaged(t *testing.T) {
	t.Parallel()
	s := newSite(t, echo)
	h := s.backend.home()
	must(t, os.MkdirAll(h.ours("tmp", "projects.json.lock", "full"), 0o700))
	must(t, os.WriteFile(h.ours("projects.json"), []byte(`{"projects": {}}`), 0o600))
	long := time.Now().Add(-time.Hour)
	must(t, os.Chtimes(h.ours("tmp", "projects.json.lock"), long, long))
	o := s.order("hi")
	o.Idle = 4 * time.Minute
	o.Prompt.Cage = cage.New(cage.Policy{
		Writable: append(s.backend.Needs().Write, o.Dir, variable(s.backend.Env, "TMPDIR"), os.DevNull), Network: cage.Network{IsOpen: true},
	})
	s.answer(o)
}

// TestFindingTheCLILeavesItsHome: a CLI that tells its version replaces the list of directories,
// if it gets to that before it exits. Another one may have just been started in a cage.
func TestFindingTheCLILeavesItsHome(t *testing.T) {
	home, dir := t.TempDir(), t.TempDir()
	path := filepath.Join(t.TempDir(), "gemini")
	syscall.ForkLock.RLock() // a process that is started meanwhile would inherit the file, which can't be run then
	err := os.WriteFile(path, []byte("#!/bin/sh\nmkdir -p \"$GEMINI_CLI_HOME/.gemini\"\ncd \"$GEMINI_CLI_HOME/.gemini\"\n"+
		"echo '{\"projects\": {}}' > new\nmv -f new projects.json\necho 0.61.0\n"), 0o700)
	syscall.ForkLock.RUnlock()
	must(t, err)
	b := &Backend{Path: path, Env: []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}}
	h := b.home()
	_, err = h.prepare(dir)
	must(t, err)
	if _, fail := new(program.Finder).Find(t.Context(), b.source(), runner.Order{Dir: dir, Mark: "x"}, func(string) {}); fail != nil {
		t.Fatal(fail)
	}
	if got, err := os.Readlink(h.ours("projects.json")); err != nil || got != filepath.Join("tmp", "projects.json") {
		t.Errorf("list of directories: got a link to %q, %v, want one to where it can be written in a cage", got, err)
	}
}
