package releasetest

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// script is one of .ci in some copy of the repository.
type script struct {
	root string // of the copy
	env  []string
}

// ended is what a script did.
type ended struct {
	out, err string
	code     int
}

// run runs a script to its end, without this machine's settings of git.
func (s script) run(t testing.TB, name string, args ...string) ended {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(s.root, ".ci", name), args...)
	cmd.Dir = t.TempDir() // scripts find the repository themselves
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
	cmd.Env = append(cmd.Env, s.env...)
	cmd.WaitDelay = 10 * time.Second
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("run %s: %v", name, err)
	}
	return ended{out.String(), errs.String(), cmd.ProcessState.ExitCode()}
}

// must is run, for what has to work.
func (s script) must(t testing.TB, name string, args ...string) string {
	t.Helper()
	e := s.run(t, name, args...)
	if e.code != 0 {
		t.Fatalf("%s %q: got exit code %d, want 0\n%s%s", name, args, e.code, e.out, e.err)
	}
	return e.out
}

// fake puts a program before those of the machine that the script finds. The
// install command writes it: a process that is started by another test at the same
// moment would keep a file of ours open, and the system refuses to run such a file.
func (s *script) fake(t testing.TB, name, text string) {
	t.Helper()
	bin := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "install", "-m", "755", "/dev/stdin", filepath.Join(bin, name))
	cmd.Stdin = strings.NewReader(text)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("install %s: %v\n%s", name, err, out)
	}
	s.env = append(s.env, "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
}
