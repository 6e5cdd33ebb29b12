package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/raymond-action/raymond-action/runner/claude/claudetest"
	"github.com/raymond-action/raymond-action/state"
)

// builds is the folder of the programs that the tests build, each at most once.
var builds string

func TestMain(m *testing.M) { os.Exit(withBuilds(m)) }

func withBuilds(m *testing.M) int {
	dir, err := os.MkdirTemp("", "raymond-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	builds = dir
	return m.Run()
}

// program is something that the tests build and run.
type program struct {
	name  string
	args  []string // of go build
	build func() (string, error)
}

func newProgram(name string, args ...string) *program {
	p := &program{name: name, args: args}
	p.build = sync.OnceValues(p.compile)
	return p
}

func (p *program) compile() (string, error) {
	path := filepath.Join(builds, p.name)
	args := append([]string{"build", "-o", path}, p.args...)
	if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return path, nil
}

// path returns where the built program is.
func (p *program) path(t testing.TB) string {
	t.Helper()
	path, err := p.build()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

var (
	// raymond is the program as users have it; with the race detector when the
	// tests run with it.
	raymond = newProgram("raymond", append(raceFlag, ".")...)
	// breaking is the program that ends itself at the n-th failpoint, n being the
	// value of killVar.
	breaking = newProgram("raymond-failpoint", "-tags", "failpoint", ".")
	// stub is a fast stand-in for the agent CLI; its folder says what it does.
	stub = newProgram("claude-stub", "./internal/stubclaude")
)

const (
	killVar = "RAYMOND_KILL_AT_SAVE"
	// siteVar marks everything that a site starts, the orchestrator included.
	siteVar = "RAYMOND_TEST_SITE"
	// runID is the workflow id of all runs on sites.
	runID = "w"
	// patience bounds every wait of these tests.
	patience = 60 * time.Second
)

// site is one test's machine: a workflow, a folder to work in, a home folder and
// an environment. When the test ends nothing that was started there may live.
type site struct {
	t    testing.TB
	bin  string // the raymond that start runs
	flow string // the folder with the workflow
	work string // where raymond is started
	env  []string
	mark string // value of siteVar
}

// newSite makes a site for a workflow in txtar form. Its agent CLI is the stub.
func newSite(t testing.TB, workflow string) *site {
	t.Helper()
	root := t.TempDir()
	s := &site{
		t: t, bin: raymond.path(t), mark: uuid.NewString(),
		flow: filepath.Join(root, "flow"), work: filepath.Join(root, "work"),
	}
	t.Cleanup(s.leave)
	s.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(root, "home"), "TMPDIR=" + t.TempDir(), "LANG=C.UTF-8",
		"RAYMOND_CLAUDE=" + stub.path(t), "SIDE_EFFECTS=" + s.sideEffects(),
	}
	s.sign()
	for _, f := range txtar.Parse([]byte(workflow)).Files {
		s.write(filepath.Join(s.flow, f.Name), string(f.Data))
	}
	if err := os.MkdirAll(s.work, 0o755); err != nil {
		t.Fatal(err)
	}
	return s
}

// newRealSite makes a site whose agent CLI is the real one and talks to api.
func newRealSite(t testing.TB, workflow string, api *claudetest.Server) *site {
	t.Helper()
	s := newSite(t, workflow)
	s.env = append(claudetest.Env(t, api), "RAYMOND_CLAUDE="+claudetest.Install(t), "SIDE_EFFECTS="+s.sideEffects())
	s.sign()
	return s
}

func (s *site) sign() {
	// A race must not pass for an exit code of ours, nor cost a second at exit.
	s.env = append(s.env, siteVar+"="+s.mark, "GORACE=atexit_sleep_ms=0 halt_on_error=1 exitcode=99")
}

// leave ends what is left of the site, which should be nothing.
func (s *site) leave() {
	if left := s.processes(); len(left) > 0 {
		s.t.Errorf("processes left on the site: got %v, want none", describe(left))
		s.killAll()
	}
	// The private copies of workflows are read-only.
	_ = filepath.WalkDir(s.work, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			return os.Chmod(path, 0o700)
		}
		return nil
	})
}

func (s *site) write(path, text string) {
	s.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

// file returns the path of a file in the working folder.
func (s *site) file(name string) string { return filepath.Join(s.work, name) }

// lines returns the lines of a file in the working folder; none when it is
// missing.
func (s *site) lines(name string) []string {
	s.t.Helper()
	data, err := os.ReadFile(s.file(name))
	if err != nil && !os.IsNotExist(err) {
		s.t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")[:strings.Count(string(data), "\n")]
}

// sideEffects is the file to which stubs and scripts write what they do.
func (s *site) sideEffects() string { return s.file("effects") }

// outcome is how a command ended.
type outcome struct {
	code           int // -1: a signal ended it
	stdout, stderr string
	took           time.Duration
}

// String shows an outcome in a failure.
func (o outcome) String() string {
	return fmt.Sprintf("exit code %d after %v\nstdout: %s\nstderr: %s", o.code, o.took.Round(time.Millisecond), o.stdout, o.stderr)
}

// command is a raymond that was started.
type command struct {
	t              testing.TB
	cmd            *exec.Cmd
	began          time.Time
	stdout, stderr bytes.Buffer
	done           chan struct{} // closed when it has ended
	took           time.Duration
}

// start runs raymond with the given arguments.
func (s *site) start(args ...string) *command { return s.startWith(nil, args...) }

// startWith is start with more variables.
func (s *site) startWith(env []string, args ...string) *command {
	s.t.Helper()
	j := &command{t: s.t, cmd: exec.Command(s.bin, args...), done: make(chan struct{})}
	j.cmd.Dir, j.cmd.Env = s.work, append(s.env[:len(s.env):len(s.env)], env...)
	j.cmd.Stdout, j.cmd.Stderr = &j.stdout, &j.stderr
	// What an orchestrator that was killed leaves may hold its pipes open.
	j.cmd.WaitDelay = time.Second
	j.began = time.Now()
	if err := j.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	go func() {
		_ = j.cmd.Wait()
		j.took = time.Since(j.began)
		close(j.done)
	}()
	return j
}

// wait returns how the command ended.
func (j *command) wait() outcome {
	j.t.Helper()
	select {
	case <-j.done:
	case <-time.After(2 * patience):
		_ = j.cmd.Process.Kill()
		<-j.done
		j.t.Errorf("raymond %q: got no end, want one within %v\nstderr: %s", j.cmd.Args[1:], 2*patience, j.stderr.String())
	}
	return outcome{j.cmd.ProcessState.ExitCode(), j.stdout.String(), j.stderr.String(), j.took}
}

// until waits for a condition that the running command brings about.
func (j *command) until(what string, cond func() bool) {
	j.t.Helper()
	giveUp := time.After(patience)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-tick.C:
		case <-j.done:
			if !cond() {
				j.t.Fatalf("%s: the command ended before\n%v", what, j.wait())
			}
			return
		case <-giveUp:
			_ = j.cmd.Process.Kill()
			j.t.Fatalf("%s: got nothing within %v\n%v", what, patience, j.wait())
		}
	}
}

// signal sends a signal to the orchestrator alone.
func (j *command) signal(sig os.Signal) {
	j.t.Helper()
	if err := j.cmd.Process.Signal(sig); err != nil {
		j.t.Errorf("signal %v: %v", sig, err)
	}
}

// raymond runs a command to its end and checks its exit code.
func (s *site) raymond(code int, args ...string) outcome {
	s.t.Helper()
	o := s.start(args...).wait()
	if o.code != code {
		s.t.Errorf("raymond %q: got %v\nwant exit code %d", args, o, code)
	}
	return o
}

// run starts the workflow and checks the exit code.
func (s *site) run(code int, args ...string) outcome {
	s.t.Helper()
	return s.raymond(code, s.runArgs(args...)...)
}

func (s *site) runArgs(args ...string) []string {
	return append([]string{"run", s.flow, "--workflow-id", runID}, args...)
}

// resume goes on with the run and checks the exit code.
func (s *site) resume(code int, args ...string) outcome {
	s.t.Helper()
	return s.raymond(code, append([]string{"resume", runID}, args...)...)
}

// stateDir is the folder of the run's state.
func (s *site) stateDir() string { return filepath.Join(s.work, ".raymond", "state") }

// stateFile is the snapshot of the run.
func (s *site) stateFile() string { return filepath.Join(s.stateDir(), runID+".json") }

// saved returns the run as its files have it.
func (s *site) saved() *state.Run {
	s.t.Helper()
	r, err := state.Read(s.stateDir(), runID)
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

// eventually waits for a condition.
func eventually(t testing.TB, what string, cond func() bool) {
	t.Helper()
	giveUp := time.After(patience)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-tick.C:
		case <-giveUp:
			t.Fatalf("%s: got nothing within %v", what, patience)
		}
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
