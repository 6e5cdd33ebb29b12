package sitetest

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/rogpeppe/go-internal/txtar"
	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/internal/invarianttest"
	"github.com/raymond-action/raymond-action/state"
)

const (
	// SiteVar marks everything that a site starts, the orchestrator included.
	SiteVar = "RAYMOND_TEST_SITE"
	// RunID is the workflow id of all runs on sites.
	RunID = "w"
	// Patience bounds every wait of these tests: some are for a CLI that takes a while to
	// begin, more than once, on a machine with much else to do.
	Patience = 5 * time.Minute
)

// Site is one test's machine: a workflow, a folder to work in, a home folder and
// an environment. When the test ends nothing that was started there may live, and the
// invariants of package invarianttest hold for the run.
type Site struct {
	T    testing.TB
	Bin  string // the raymond that Start runs
	Flow string // the folder with the workflow
	Work string // where raymond is started
	Env  []string
	Mark string // value of SiteVar
	// Tampered says what a test has done to the files of the run, of which the
	// invariants need not hold then.
	Tampered string
	// Whole has the effects of the same workflow when nobody disturbs it; nil when they
	// are not known.
	Whole []invarianttest.Effect
	rests []invarianttest.IdleMoment // the moments between two commands
}

// Bare is a folder that a test has filled itself. What carries the site's mark
// in its environment is the site's.
func Bare(t testing.TB, dir string) *Site {
	s := &Site{T: t, Work: dir, Mark: uuid.NewString()}
	t.Cleanup(s.leave)
	return s
}

// New makes a site for a workflow in txtar form. Its agent CLI is the stub.
func New(t testing.TB, workflow string) *Site {
	t.Helper()
	root := t.TempDir()
	s := &Site{
		T: t, Bin: Raymond.Path(t), Mark: uuid.NewString(),
		Flow: filepath.Join(root, "flow"), Work: filepath.Join(root, "work"),
	}
	t.Cleanup(s.leave)
	s.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(root, "home"), "TMPDIR=" + t.TempDir(), "LANG=C.UTF-8",
		"RAYMOND_CLAUDE=" + Stub.Path(t), "SIDE_EFFECTS=" + s.SideEffects(),
	}
	s.Sign()
	for _, f := range txtar.Parse([]byte(workflow)).Files {
		s.Write(filepath.Join(s.Flow, f.Name), string(f.Data))
	}
	assert.NilError(t, os.MkdirAll(s.Work, 0o755))
	return s
}

// Sign puts the site's mark into its environment.
func (s *Site) Sign() {
	// A race must not pass for an exit code of ours, nor cost a second at exit.
	s.Env = append(s.Env, SiteVar+"="+s.Mark, "GORACE=atexit_sleep_ms=0 halt_on_error=1 exitcode=99")
}

// leave ends what is left of the site, which should be nothing.
func (s *Site) leave() {
	if left := s.Processes(); len(left) > 0 {
		s.T.Errorf("processes left on the site: got %v, want none", Describe(left))
		s.KillAll()
	}
	s.check()
	// The private copies of workflows are read-only.
	_ = filepath.WalkDir(s.Work, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			return os.Chmod(path, 0o700)
		}
		return nil
	})
}

// Write writes a file, which may be a program, and makes the folders above it.
func (s *Site) Write(path, text string) {
	s.T.Helper()
	// A process that is started meanwhile would inherit the file, which can't be run then.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	assert.NilError(s.T, os.MkdirAll(filepath.Dir(path), 0o755))
	assert.NilError(s.T, os.WriteFile(path, []byte(text), 0o644))
}

// File returns the path of a file in the working folder.
func (s *Site) File(name string) string { return filepath.Join(s.Work, name) }

// Lines returns the lines of a file in the working folder; none when it is
// missing.
func (s *Site) Lines(name string) []string {
	s.T.Helper()
	return LinesOf(s.T, s.File(name))
}

// LinesOf returns the whole lines of a file; none when it is missing.
func LinesOf(t testing.TB, path string) []string {
	t.Helper()
	data, err := os.ReadFile(path)
	assert.Check(t, err == nil || os.IsNotExist(err), "%v", err)
	return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")[:strings.Count(string(data), "\n")]
}

// SideEffects is the file to which stubs and scripts write what they do.
func (s *Site) SideEffects() string { return s.File("effects") }

// Start runs raymond with the given arguments.
func (s *Site) Start(args ...string) *Command {
	s.T.Helper()
	s.Witness()
	cmd := exec.Command(s.Bin, args...)
	cmd.Dir, cmd.Env = s.Work, s.Env
	return Begin(s.T, cmd)
}

// Raymond runs a command to its end and checks its exit code.
func (s *Site) Raymond(code int, args ...string) Outcome {
	s.T.Helper()
	o := s.Start(args...).Wait()
	assert.Check(s.T, is.Equal(o.Code, code), "raymond %q: got %v\nwant exit code %d", args, o, code)
	return o
}

// Run starts the workflow and checks the exit code.
func (s *Site) Run(code int, args ...string) Outcome {
	s.T.Helper()
	return s.Raymond(code, s.RunArgs(args...)...)
}

// RunArgs are the arguments with which Run starts the workflow.
func (s *Site) RunArgs(args ...string) []string {
	return append([]string{"run", s.Flow, "--workflow-id", RunID}, args...)
}

// Resume resumes the run and checks the exit code.
func (s *Site) Resume(code int, args ...string) Outcome {
	s.T.Helper()
	return s.Raymond(code, append([]string{"resume", RunID}, args...)...)
}

// StateDir is the folder of the run's state.
func (s *Site) StateDir() string { return filepath.Join(s.Work, ".raymond", "state") }

// StateFile is the snapshot of the run.
func (s *Site) StateFile() string { return filepath.Join(s.StateDir(), RunID+".json") }

// Saved returns the run as its files have it.
func (s *Site) Saved() *state.Run {
	s.T.Helper()
	r, err := state.Read(s.StateDir(), RunID)
	assert.NilError(s.T, err)
	return r
}
