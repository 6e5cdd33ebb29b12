package sitetest

import (
	"encoding/json"
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
	"github.com/raymond-action/raymond-action/state/journal"
)

const (
	// SiteVar is the variable with the site's mark; all processes of a site, raymond included, have it.
	SiteVar = "RAYMOND_TEST_SITE"
	// RunID is the workflow id of all runs on sites.
	RunID = "w"
	// Patience is the time limit for conditions that tests wait for. It is long because some tests wait for
	// several starts of a CLI, each of which takes seconds on a busy machine.
	Patience = 5 * time.Minute
)

// Site simulates a machine for one test: a workflow, a working folder, a home folder and an environment.
// When the test ends, no process that was started on the site may be alive, and the invariants of
// package invarianttest must hold for the run.
type Site struct {
	T    testing.TB
	Bin  string // path of the raymond program that Start runs
	Flow string // the folder with the workflow
	Work string // the working folder, in which raymond is started
	Env  []string
	Mark string // value of SiteVar
	// Tampered describes how a test has changed the files of the run. If it is not empty, the invariants
	// aren't checked.
	Tampered string
	// Undisturbed are the effects of an uninterrupted run of the same workflow. It is nil if they are unknown.
	Undisturbed []invarianttest.Effect
	idleMoments []invarianttest.IdleMoment // the saved run between commands
}

// Bare returns a site for a folder that the test has filled itself. All processes with the site's
// mark in their environment belong to the site.
func Bare(t testing.TB, dir string) *Site {
	s := &Site{T: t, Work: dir, Mark: uuid.NewString()}
	t.Cleanup(s.killLeftovers)
	return s
}

// New creates a site for a workflow in txtar form, with the stub as its agent CLI.
func New(t testing.TB, workflow string) *Site {
	t.Helper()
	root := t.TempDir()
	s := &Site{
		T: t, Bin: Raymond.Path(t), Mark: uuid.NewString(),
		Flow: filepath.Join(root, "flow"), Work: filepath.Join(root, "work"),
	}
	t.Cleanup(s.killLeftovers)
	s.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(root, "home"), "TMPDIR=" + t.TempDir(), "LANG=C.UTF-8",
		"RAYMOND_CLAUDE=" + Stub.Path(t), "SIDE_EFFECTS=" + s.SideEffects(),
	}
	s.AddMark()
	for _, f := range txtar.Parse([]byte(workflow)).Files {
		s.Write(filepath.Join(s.Flow, f.Name), string(f.Data))
	}
	assert.NilError(t, os.MkdirAll(s.Work, 0o755))
	return s
}

// AddMark adds the site's mark, and settings for the race detector, to the site's environment.
func (s *Site) AddMark() {
	// A data race ends the program with an exit code that raymond doesn't use. Without this setting, the race
	// detector would also sleep at exit.
	s.Env = append(s.Env, SiteVar+"="+s.Mark, "GORACE=atexit_sleep_ms=0 halt_on_error=1 exitcode=99")
}

// killLeftovers kills leftover processes of the site and fails the test if there are any.
func (s *Site) killLeftovers() {
	if left := s.Processes(); len(left) > 0 {
		s.T.Errorf("processes left on the site: got %v, want none", Describe(left))
		s.KillAll()
	}
	s.check()
	// Private copies of workflows are read-only, so they could not be removed with the test's folder.
	_ = filepath.WalkDir(s.Work, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			return os.Chmod(path, 0o700)
		}
		return nil
	})
}

// Write writes a file, possibly an executable one, and creates the folders above it.
func (s *Site) Write(path, text string) {
	s.T.Helper()
	// A process that another goroutine starts during the write would inherit the open file. The file could
	// then not be executed ("text file busy").
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	assert.NilError(s.T, os.MkdirAll(filepath.Dir(path), 0o755))
	assert.NilError(s.T, os.WriteFile(path, []byte(text), 0o644))
}

// File returns the path of a file in the working folder.
func (s *Site) File(name string) string { return filepath.Join(s.Work, name) }

// Lines returns the complete lines of a file in the working folder. It returns nil if the file is missing.
func (s *Site) Lines(name string) []string {
	s.T.Helper()
	return LinesOf(s.T, s.File(name))
}

// LinesOf returns the complete lines of a file. It returns nil if the file is missing.
func LinesOf(t testing.TB, path string) []string {
	t.Helper()
	data, err := os.ReadFile(path)
	assert.Check(t, err == nil || os.IsNotExist(err), "%v", err)
	return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")[:strings.Count(string(data), "\n")]
}

// SideEffects returns the path of the file to which the stub and scripts append what they do.
func (s *Site) SideEffects() string { return s.File("effects") }

// Start starts raymond with the given arguments.
func (s *Site) Start(args ...string) *Command {
	s.T.Helper()
	s.RecordIdle()
	cmd := exec.Command(s.Bin, args...)
	cmd.Dir, cmd.Env = s.Work, s.Env
	return Begin(s.T, cmd)
}

// Raymond runs raymond to its end and checks the exit code.
func (s *Site) Raymond(code int, args ...string) Outcome {
	s.T.Helper()
	o := s.Start(args...).Wait()
	assert.Check(s.T, is.Equal(o.Code, code), "raymond %q: got %v\nwant exit code %d", args, o, code)
	return o
}

// Run starts the workflow, waits for its end and checks the exit code.
func (s *Site) Run(code int, args ...string) Outcome {
	s.T.Helper()
	return s.Raymond(code, s.RunArgs(args...)...)
}

// RunArgs returns the arguments with which Run starts the workflow.
func (s *Site) RunArgs(args ...string) []string {
	return append([]string{"run", s.Flow, "--workflow-id", RunID}, args...)
}

// Resume resumes the run, waits for its end and checks the exit code.
func (s *Site) Resume(code int, args ...string) Outcome {
	s.T.Helper()
	return s.Raymond(code, append([]string{"resume", RunID}, args...)...)
}

// StateDir returns the state folder of the run.
func (s *Site) StateDir() string { return filepath.Join(s.Work, ".raymond", "state") }

// StateFile returns the path of the run's snapshot.
func (s *Site) StateFile() string { return filepath.Join(s.StateDir(), RunID+".json") }

// Saved returns the run as it is saved in its files.
func (s *Site) Saved() *state.Run {
	s.T.Helper()
	r, err := journal.Read(s.StateDir(), RunID)
	assert.NilError(s.T, err)
	return r
}

// Events returns the events in the event log of the run.
func (s *Site) Events() []state.Event {
	s.T.Helper()
	return EventsIn(s.T, filepath.Join(s.StateDir(), RunID, "events.jsonl"))
}

// EventsIn reads an event log. A missing file yields no events. An incomplete last line is skipped,
// since the log may be growing.
func EventsIn(t testing.TB, path string) []state.Event {
	t.Helper()
	var events []state.Event
	for _, line := range LinesOf(t, path) {
		var e state.Event
		assert.NilError(t, json.Unmarshal([]byte(line), &e), "%s: line %q", path, line)
		events = append(events, e)
	}
	return events
}
