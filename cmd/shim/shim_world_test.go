//go:build world

package shim_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/raymond-action/raymond-action/cmd/shim"
	"github.com/raymond-action/raymond-action/internal/installtest"
)

// node is a version of node, with the command that starts it.
type node struct {
	name string
	argv []string
	// becomes is true if the shim replaces its own process with the program.
	becomes bool
}

// nodes returns the version of node that GitHub uses, and the same version without execve, which older
// versions lack.
func nodes(t *testing.T) []node {
	t.Helper()
	pinned := installtest.Node(t)
	hide := filepath.Join(t.TempDir(), "hide.cjs")
	write(t, hide, "delete process.execve;\n")
	return []node{
		{"node 24", []string{pinned}, true},
		{"node 24 without execve", []string{pinned, "--require", hide}, false},
	}
}

// eachNode runs a test with each version of node.
func eachNode(t *testing.T, test func(t *testing.T, n node)) {
	t.Helper()
	for _, n := range nodes(t) {
		t.Run(n.name, func(t *testing.T) { test(t, n) })
	}
}

// action is a directory with an unpacked action, and the environment of its steps.
type action struct {
	t   *testing.T
	dir string
	env map[string]string
}

// newAction unpacks the shim to a new directory, without a program.
func newAction(t *testing.T) *action {
	t.Helper()
	a := &action{t: t, dir: filepath.Join(t.TempDir(), "action"), env: map[string]string{
		"PATH": t.TempDir(), "HOME": t.TempDir(), "RUNNER_TEMP": t.TempDir(), "ACTIONS_RUNTIME_TOKEN": "token",
		"GITHUB_STATE": filepath.Join(t.TempDir(), "state"), actVar: "exit 0",
		// With the race detector, the stand-in would otherwise wait for a second before it exits.
		"GORACE": "atexit_sleep_ms=0",
	}}
	assert.NilError(t, os.CopyFS(a.path("cmd/shim"), shim.Files))
	return a
}

func (a *action) path(name string) string { return filepath.Join(a.dir, filepath.FromSlash(name)) }

// shipped returns the path at which a release contains the program for this machine.
func (a *action) shipped() string {
	name := "raymond-" + runtime.GOOS + "-" + runtime.GOARCH
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	return a.path("cmd/shim/bin/" + name)
}

// ship writes the stand-in to the path of a release's program. Like a file from a zip archive, it is not
// executable.
func (a *action) ship() { program(a.t, a.shipped(), 0o600) }

// program writes the stand-in, which is a copy of the test program, to path.
func program(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	self, err := os.Executable()
	assert.NilError(t, err)
	data, err := os.ReadFile(self)
	assert.NilError(t, err)
	write(t, path, string(data))
	assert.NilError(t, os.Chmod(path, mode))
}

// write writes a file and creates missing directories.
func write(t *testing.T, path, text string) {
	t.Helper()
	assert.NilError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	assert.NilError(t, os.WriteFile(path, []byte(text), 0o644))
}

// step is a process that runs main.js or post.js.
type step struct {
	t      *testing.T
	cmd    *exec.Cmd
	ran    bool // the stand-in has written its report
	report report
	more   *bufio.Reader
	stdout string // the output after the report
	stderr bytes.Buffer
}

// run runs a script, and waits until it and all processes that hold its output open have ended.
func (a *action) run(n node, script string) *step {
	a.t.Helper()
	return a.start(n, script).wait()
}

// start starts a script with a version of node.
func (a *action) start(n node, script string) *step {
	a.t.Helper()
	return a.begin(append(slices.Clone(n.argv), a.path("cmd/shim/"+script)))
}

// begin starts a command. It returns when the command has printed its first line, which is the stand-in's
// report, or has ended.
func (a *action) begin(argv []string) *step {
	a.t.Helper()
	s := &step{t: a.t, cmd: exec.Command(argv[0], argv[1:]...)}
	for name, value := range a.env {
		s.cmd.Env = append(s.cmd.Env, name+"="+value)
	}
	s.cmd.Stderr = &s.stderr
	out, err := s.cmd.StdoutPipe()
	if err == nil {
		err = s.cmd.Start()
	}
	assert.NilError(a.t, err)
	a.t.Cleanup(func() { _ = s.cmd.Process.Kill() })
	s.more = bufio.NewReader(out)
	line, _ := s.more.ReadString('\n')
	if s.ran = json.Unmarshal([]byte(line), &s.report) == nil; !s.ran {
		s.stdout = line
	}
	return s
}

// wait reads the rest of the output and waits until the process has ended.
func (s *step) wait() *step {
	s.t.Helper()
	rest, err := io.ReadAll(s.more)
	assert.NilError(s.t, err)
	s.stdout += string(rest)
	_ = s.cmd.Wait()
	return s
}

// status returns the exit code of the process. If a signal has ended the process, it returns 128 plus the
// signal's number.
func (s *step) status() int {
	if w, ok := s.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && s.cmd.ProcessState.ExitCode() < 0 {
		return 128 + int(w.Signal())
	}
	return s.cmd.ProcessState.ExitCode()
}

// both runs the main phase, and then the post phase with the state that the main phase has saved.
func (a *action) both(n node) map[string]*step {
	a.t.Helper()
	main := a.run(n, "main.js")
	a.passState()
	return map[string]*step{"main.js": main, "post.js": a.run(n, "post.js")}
}

// passState adds the state that a step has saved to the environment, as the runner does for the post phase.
func (a *action) passState() {
	a.t.Helper()
	data, err := os.ReadFile(a.env["GITHUB_STATE"])
	if err != nil {
		return // nothing was saved
	}
	for line := range strings.Lines(string(data)) {
		name, value, _ := strings.Cut(strings.TrimRight(line, "\r\n"), "=")
		a.env["STATE_"+name] = value
	}
}
