//go:build world

package shim_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/raymond-action/raymond-action/cmd/shim"
	"github.com/raymond-action/raymond-action/internal/installtest"
)

// patience bounds every wait of these tests, of which some build a program.
const patience = 5 * time.Minute

// node is a way to run JavaScript.
type node struct {
	name string
	argv []string
	// becomes says that the shim's process turns into the program.
	becomes bool
}

// nodes are the node of GitHub, and that one as if it were older.
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

// eachNode runs a test with each.
func eachNode(t *testing.T, test func(t *testing.T, n node)) {
	t.Helper()
	for _, n := range nodes(t) {
		t.Run(n.name, func(t *testing.T) { test(t, n) })
	}
}

// action is an unpacked action.
type action struct {
	t   *testing.T
	dir string
	env map[string]string
}

// newAction unpacks the shim alone. The stand-in is where env says.
func newAction(t *testing.T) *action {
	t.Helper()
	a := &action{t: t, dir: filepath.Join(t.TempDir(), "action"), env: map[string]string{
		"PATH": t.TempDir(), "HOME": t.TempDir(), "RUNNER_TEMP": t.TempDir(), "ACTIONS_RUNTIME_TOKEN": "token",
		"GITHUB_STATE": filepath.Join(t.TempDir(), "state"),
		reportVar:      filepath.Join(t.TempDir(), "report"), actVar: "exit 0",
		// A race must not pass for an exit code of ours, nor cost a second at exit.
		"GORACE": "atexit_sleep_ms=0",
	}}
	if err := os.CopyFS(a.path("cmd/shim"), shim.Files); err != nil {
		t.Fatal(err)
	}
	return a
}

func (a *action) path(name string) string { return filepath.Join(a.dir, filepath.FromSlash(name)) }

// shipped is where a release has the program for this machine.
func (a *action) shipped() string {
	name := "raymond-" + runtime.GOOS + "-" + runtime.GOARCH
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	return a.path("cmd/shim/bin/" + name)
}

// ship puts the stand-in there.
func (a *action) ship(mode os.FileMode) {
	a.t.Helper()
	program(a.t, a.shipped())
	if err := os.Chmod(a.shipped(), mode); err != nil {
		a.t.Fatal(err)
	}
}

// program makes path the stand-in.
func program(t *testing.T, path string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, string(data))
	if err := os.Chmod(path, 0o755); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// step is a started main.js or post.js.
type step struct {
	a      *action
	cmd    *exec.Cmd
	stdout bytes.Buffer
	stderr bytes.Buffer
	done   chan struct{}
}

func (a *action) start(n node, script string) *step {
	a.t.Helper()
	return a.begin(append(slices.Clone(n.argv), a.path("cmd/shim/"+script)))
}

func (a *action) begin(argv []string) *step {
	a.t.Helper()
	s := &step{a: a, done: make(chan struct{})}
	s.cmd = exec.Command(argv[0], argv[1:]...)
	for name, value := range a.env {
		s.cmd.Env = append(s.cmd.Env, name+"="+value)
	}
	s.cmd.Stdout, s.cmd.Stderr = &s.stdout, &s.stderr
	if err := s.cmd.Start(); err != nil {
		a.t.Fatal(err)
	}
	go func() {
		_ = s.cmd.Wait()
		close(s.done)
	}()
	a.t.Cleanup(func() {
		_ = s.cmd.Process.Kill()
		<-s.done
	})
	return s
}

// both runs the main part and then the post part, which the runner tells what the main
// part has saved.
func (a *action) both(n node) map[string]*step {
	a.t.Helper()
	main := a.run(n, "main.js")
	a.tell()
	return map[string]*step{"main.js": main, "post.js": a.run(n, "post.js")}
}

// tell makes what was saved variables of the post part.
func (a *action) tell() {
	a.t.Helper()
	data, err := os.ReadFile(a.env["GITHUB_STATE"])
	if err != nil {
		return // nothing
	}
	for line := range strings.Lines(string(data)) {
		name, value, _ := strings.Cut(strings.TrimRight(line, "\r\n"), "=")
		a.env["STATE_"+name] = value
	}
}

// run starts a script and waits for its end, and that of all that holds its
// output open.
func (a *action) run(n node, script string) *step {
	a.t.Helper()
	return a.start(n, script).wait()
}

func (s *step) wait() *step {
	s.a.t.Helper()
	select {
	case <-s.done:
	case <-time.After(patience):
		s.a.t.Fatalf("%q: got no end within %v", s.cmd.Args, patience)
	}
	return s
}

// status is how the process ended: its exit code, or 128 and the signal.
func (s *step) status() int {
	if w, ok := s.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && s.cmd.ProcessState.ExitCode() < 0 {
		return 128 + int(w.Signal())
	}
	return s.cmd.ProcessState.ExitCode()
}

// report waits until the stand-in has been started.
func (s *step) report() report {
	s.a.t.Helper()
	giveUp := time.After(patience)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		ended := s.ended()
		if r, ok := s.a.reported(); ok {
			return r
		}
		if ended {
			s.a.t.Fatalf("%q: got an end without a start of the program\n%s%s", s.cmd.Args, s.stdout.String(), s.stderr.String())
		}
		select {
		case <-tick.C:
		case <-giveUp:
			s.a.t.Fatalf("%q: got no start of the program within %v", s.cmd.Args, patience)
		}
	}
}

// ended says whether the script has ended, and all that holds its output open.
func (s *step) ended() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

// reported returns what a stand-in has said, if there was one.
func (a *action) reported() (report, bool) {
	a.t.Helper()
	data, err := os.ReadFile(a.env[reportVar])
	if err != nil {
		return report{}, false
	}
	var r report
	if err := json.Unmarshal(data, &r); err != nil {
		a.t.Fatal(err)
	}
	return r, true
}
