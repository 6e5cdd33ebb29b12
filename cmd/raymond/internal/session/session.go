// Package session drives one run, wired to everything it needs: its folders, its
// logs, the agent CLI, scripts, signals. The command line, the Action and
// simulations all use it.
//
// NewRun makes a run from flags and a workflow, CheckResume says whether an
// existing one can continue, Open prepares its session, and Session.Run drives it
// until it stops.
package session

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"time"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"

	"github.com/google/uuid"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/snapshots"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/agents"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/runner/shell"
	"github.com/raymond-action/raymond-action/state"
)

// Dir is a run's own folder below a state folder, absolute.
func Dir(stateDir, id string) (string, error) { return filepath.Abs(filepath.Join(stateDir, id)) }

// CLIFolder is where agent CLIs that run in a cage have folders of their own, below that of a run or of a step.
func CLIFolder(dir string) string { return filepath.Join(dir, "clis") }

// Session is a run that is ready to be driven.
type Session struct {
	// Config is what the run is driven with. It may be changed before Run.
	Config runner.Config
	// Events tells the run's events to its logs and to reporters that are added
	// before Run.
	Events *report.Fanout

	setup Setup
	clis  map[string]runner.Agent // as they are before anybody wraps them
	files *snapshots.Keeper       // nil: no snapshots are taken
	log   *report.Log             // the run's own; nil for a run of which no state is kept
}

// newToken returns the token of a question: 128 random bits in hex.
func newToken() string {
	var bits [16]byte
	rand.Read(bits[:]) // never fails
	return hex.EncodeToString(bits[:])
}

// Open ends what an earlier process has left of the run, and prepares folders and
// logs. The caller closes the session.
func Open(s Setup) (*Session, error) {
	if s.Resumed {
		if err := Sweep(s.Run.Mark); err != nil {
			return nil, err
		}
	}
	o := &Session{setup: s, Config: runner.Config{
		Workflow: s.Scope.Workflow, NewID: uuid.NewString, NewToken: newToken, Clock: runner.RealClock(), Telling: s.Options.Telling,
		Deadline: s.Options.Deadline, Cancel: s.Stops.Reasons(), Redact: s.Hide.Printed, Checkpoints: s.Others.Checkpoints, ListPrice: Prices(s.Now()).Of,
		Cages: s.Env.Cages, People: s.Others.People, Jobs: s.Options.Jobs, Part: s.Others.Part, Matrix: s.Others.Matrix, Hold: s.Options.Hold,
		PayloadDir: filepath.Join(s.private(), "payload"), OwnDir: filepath.Join(s.private(), "scripts"), LogDir: filepath.Join(s.Dir, "logs"), CopyDir: filepath.Join(s.Dir, "protected"),
		HandOver: s.Others.HandOver,
	}}
	if err := shell.Adopt(); err != nil {
		o.note("what a state leaves in the background may outlive it: " + err.Error())
	}
	folderErr := o.makeFolders()
	var err error
	if o.Events, o.log, err = openLogs(s); err != nil || folderErr != nil {
		o.Close()
		return nil, errors.Join(folderErr, err)
	}
	if o.Config.DebugDir != "" {
		o.Events.Add("debug folder", report.NewDebug(o.Config.DebugDir, o.Events.Model))
	}
	o.Config.Reporter = reporter(o.Events, s.Hide.Events)
	// Snapshots are of what prompts have done.
	if s.Others.Snapshots != nil && s.Scope.HasPrompts() {
		o.files = snapshots.New(s.Others.Snapshots, o.Config.Reporter)
		o.Config.Snapshots = o.files
	}
	o.setBackends()
	o.addTraces(time.Now())
	return o, nil
}

// Sweep ends the processes that a run which was killed has left behind.
func Sweep(mark string) error {
	if _, err := shell.Sweep(context.Background(), mark); err != nil {
		return &problem.Problem{Class: problem.ClassRuntime, Where: "left-over processes", What: err.Error(), Hint: "end them by hand, then resume again"}
	}
	return nil
}

// Run drives the run until it stops, and returns it as it is then. It starts nothing where an agent CLI is missing that the
// run will come to.
func (s *Session) Run(ctx context.Context) (*state.Run, error) {
	if err := s.checkCLIs(ctx); err != nil {
		return s.setup.Run, err
	}
	// Where no file leads to a prompt, a run starts without the git processes of a first
	// snapshot. A prompt that comes nevertheless is the first one then.
	if s.files != nil && s.setup.Scope.LeadsToPrompt() {
		s.files.Start(s.setup.Run)
	}
	r := runner.New(s.Config, s.setup.Run)
	err := r.Run(ctx, s.setup.Resumed, s.setup.Changed)
	if s.files != nil {
		s.files.Close(r.State().Progress.Status == state.Cancelled)
	}
	if c := s.setup.Agents; c != nil && c.Folder != "" {
		err = errors.Join(err, agents.Empty(*c))
	}
	return r.State(), errors.Join(err, Tidy(s.setup.Dir))
}

// IsIdle reports whether Run would suspend the run again at once, with nothing changed. It
// may be left as it is then.
func (s *Session) IsIdle() bool {
	return s.setup.Resumed && runner.New(s.Config, s.setup.Run).IsIdle(s.setup.Changed)
}

// Report tells an event that is no part of a step.
func (s *Session) Report(e state.Event) { s.Config.Reporter.Report(e) }

// Close closes the logs and all reporters.
func (s *Session) Close() {
	if s.Events != nil {
		s.Events.Close()
	}
}

// Tidy removes what only a run under way needs from its own folder.
func Tidy(dir string) error {
	var errs []error
	for _, name := range []string{"payload", "scripts", "scope"} {
		errs = append(errs, os.RemoveAll(filepath.Join(dir, name)))
	}
	return errors.Join(errs...)
}

// makeFolders makes the folders that the run needs.
func (s *Session) makeFolders() (err error) {
	for _, dir := range []string{s.Config.PayloadDir, s.Config.OwnDir} {
		if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o700)); err != nil {
			return err
		}
	}
	if dir := s.setup.Options.DebugDir; dir != "" {
		if s.Config.DebugDir, err = filepath.Abs(dir); err != nil {
			return err
		}
		if err := os.MkdirAll(s.Config.DebugDir, 0o700); err != nil {
			return problem.Usage("--debug-dir", err.Error(), "")
		}
	}
	return s.copyScope()
}

// copyScope makes the private copy that scripts run from. Where nothing is known
// to lead to a script, it is made for the case that an agent names one.
func (s *Session) copyScope() error {
	files := s.setup.Scope
	if !files.HasScripts() {
		return nil
	}
	dir := filepath.Join(s.setup.private(), "scope")
	err := files.PrivateCopy(dir)
	if err == nil {
		s.Config.ScriptDir = dir
		if note := files.Partial(); note != "" {
			fmt.Fprintln(s.setup.Out.Stderr, "raymond: note: "+text.Escaped(note))
		}
	}
	if files.Workflow.HasScripts() {
		return err
	}
	return nil
}

// setBackends says what prompts and scripts are run with.
func (s *Session) setBackends() {
	u := &s.setup
	b := u.Backends.withDefaults(u.Agents != nil && u.Agents.NoNewPrivs)
	s.Config.Scripts, s.Config.Verifier = b.Scripts(u.Env), b.Checks(u.Env.Common)
	if u.Store != nil {
		s.Config.Store = &keeper{File: u.Store, log: s.log}
	}
	if u.Agents == nil {
		return
	}
	run, cfg := u.Now(), *u.Agents
	cfg.ClaudeArgs, cfg.Command = run.ClaudeArgs, run.Command
	s.Config.Agents = b.Agents(cfg)
	s.clis = maps.Clone(s.Config.Agents)
	if cfg.Proxy != nil {
		s.Config.Meter = cfg.Proxy
	}
}

// Replay opens the logs of a run of which nothing is driven: reporters may be added
// to the session's Events. The caller closes it.
func Replay(u Setup) (*Session, error) {
	s := &Session{setup: u}
	var err error
	if s.Events, s.log, err = openLogs(u); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// ShowCompleted completes the logs of a run that has nothing left to do, and
// prints its result: a crash after its end may have kept events from them.
func ShowCompleted(u Setup) error {
	s, err := Replay(u)
	if err != nil {
		return err
	}
	s.Close()
	if err := Tidy(u.Dir); err != nil {
		return err
	}
	return PrintResult(u.Out.Stdout, u.Options.Events, u.Run)
}
