// Package session drives one run and connects it to everything that it needs: directories, logs, agent CLIs,
// scripts, signals, and snapshots of its files. The command line, the Action and simulations use it.
//
// NewRun creates a run from flags and a workflow. CheckResume checks whether an existing run can continue.
// Open prepares a session for the run, and Session.Run drives the run until it stops.
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
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/clis"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/runner/shell"
	"github.com/raymond-action/raymond-action/state"
)

// RunDir returns a run's own directory below a state directory. The path is absolute unless the working
// directory is unknown. In that case no run can be driven.
func RunDir(stateDir, id string) string {
	dir := filepath.Join(stateDir, id)
	if abs, err := filepath.Abs(dir); err == nil {
		return abs
	}
	return dir
}

// CLIDir returns the directory for files of agent CLIs that run in a cage. dir is the directory of a run or
// a step.
func CLIDir(dir string) string { return filepath.Join(dir, "clis") }

// Session is a run that is ready to be driven.
type Session struct {
	// Config configures the runner. It may be changed before Run.
	Config runner.Config
	// Events passes the run's events to its logs, and to reporters that are added before Run.
	Events *report.Fanout

	setup Setup
	clis  map[string]runner.AgentCLI // the agent CLIs before callers wrap them
	files *snapshots                 // nil if no snapshots are taken
	log   *report.EventLog           // the run's own event log; nil if its state is not saved
}

// newToken returns 128 random bits in hex, for the token of a question or the mark of a run's processes.
func newToken() string {
	var bits [16]byte
	rand.Read(bits[:]) // never fails
	return hex.EncodeToString(bits[:])
}

// Open prepares a session: it ends processes that an earlier process of the run has left running, and creates
// directories and logs. The caller must call Close.
func Open(u Setup) (*Session, error) {
	if u.Resumed {
		if err := Sweep(u.Run.Mark); err != nil {
			return nil, err
		}
	}
	if u.Store != nil {
		u.Store.SetMaxHistory(u.Options.History)
	}
	s := &Session{setup: u, Config: u.Config}
	if err := shell.AdoptOrphans(); err != nil {
		s.note("background processes of a state may outlive it: " + err.Error())
	}
	folderErr := s.makeDirs()
	var err error
	if s.Events, s.log, err = openLogs(u); err != nil || folderErr != nil {
		s.Close()
		return nil, errors.Join(folderErr, err)
	}
	c := &s.Config
	c.Workflow, c.Cages, c.Clock = u.Scope.Workflow, u.Env.Cages, runner.RealClock()
	c.Verbosity, c.Deadline, c.Jobs, c.Hold = u.Options.Verbosity, u.Options.Deadline, u.Options.Jobs, u.Options.Hold
	c.RunsTrustedAlone = c.Cages != nil && !u.Options.Cage.IsOff()
	c.NewID, c.NewToken, c.Cancel, c.ListPrice = uuid.NewString, newToken, u.Stops.Reasons(), Prices(u.CurrentOptions()).Cost
	if c.DebugDir != "" {
		s.Events.Add("debug folder", report.NewDebugWriter(c.DebugDir, s.Events.Model))
	}
	c.Reporter = s.Events
	// Snapshots are only taken after prompts.
	if u.Snapshots != nil && u.Scope.HasPrompts() {
		s.files = newSnapshots(u.Stops.Requested, u.Snapshots.Take, c.Reporter)
		c.Snapshots = s.files
	}
	s.setBackends()
	s.addTraces(time.Now())
	return s, nil
}

// Sweep ends the processes of a run that was killed. mark identifies the processes.
func Sweep(mark string) error {
	if _, err := shell.Sweep(mark); err != nil {
		return &problem.Problem{Class: problem.ClassRuntime, Where: "left-over processes", What: err.Error(), Hint: "end them by hand, then resume again"}
	}
	return nil
}

// Run drives the run until it stops, and returns its last version. If the run will need an agent CLI that is
// missing, Run starts nothing and returns an error.
func (s *Session) Run(ctx context.Context) (*state.Run, error) {
	if err := s.checkCLIs(ctx); err != nil {
		return s.setup.Run, err
	}
	// The first snapshot starts several git processes, so it is taken only if the workflow's files show a
	// way to a prompt. If a prompt runs nevertheless, the snapshot after it is the first one.
	if s.files != nil && s.setup.Scope.LeadsToPrompt() {
		s.files.start(s.setup.Run)
	}
	r := runner.New(s.Config, s.setup.Run)
	err := r.Run(ctx, s.setup.Resumed, s.setup.NewOptions)
	if s.files != nil {
		s.files.close()
	}
	if c := s.setup.Agents; c != nil && c.Folder != "" {
		err = errors.Join(err, clis.CleanFolders(*c))
	}
	return r.State(), errors.Join(err, Tidy(s.setup.Dir))
}

// IsIdle reports whether Run would immediately suspend the unchanged run again. The caller then need not
// drive the run.
func (s *Session) IsIdle() bool {
	return s.setup.Resumed && runner.New(s.Config, s.setup.Run).IsIdle(s.setup.NewOptions)
}

// Report reports an event that is not part of a step.
func (s *Session) Report(e state.Event) { s.Config.Reporter.Report(e) }

// Close closes the logs and all reporters.
func (s *Session) Close() {
	if s.Events != nil {
		s.Events.Close()
	}
}

// note prints a note for the user on stderr.
func (s *Session) note(line string) {
	if s.setup.Hide != nil {
		line = s.setup.Hide(line)
	}
	fmt.Fprintln(s.setup.Stderr, "raymond: note: "+text.Escape(line))
}

// Tidy removes the files in a run's own directory that are needed only while the run is driven.
func Tidy(dir string) error {
	var errs []error
	for _, name := range []string{"payload", "scripts", "scope"} {
		errs = append(errs, os.RemoveAll(filepath.Join(dir, name)))
	}
	return errors.Join(errs...)
}

// makeDirs creates the directories that the run needs, and the private copy of the workflow's files that scripts and
// the agent "command" run from.
func (s *Session) makeDirs() (err error) {
	u, c := &s.setup, &s.Config
	c.LogDir, c.CopyDir = filepath.Join(u.Dir, "logs"), filepath.Join(u.Dir, "protected")
	c.PayloadDir, c.TrustedDir = filepath.Join(u.private(), "payload"), filepath.Join(u.private(), "scripts")
	for _, dir := range []string{c.PayloadDir, c.TrustedDir} {
		if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o700)); err != nil {
			return err
		}
	}
	if dir := u.Options.DebugDir; dir != "" {
		if c.DebugDir, err = filepath.Abs(dir); err != nil {
			return err
		}
		if err := os.MkdirAll(c.DebugDir, 0o700); err != nil {
			return problem.Usage("--debug-dir", err.Error(), "")
		}
	}
	hasCommand := u.CurrentOptions().Command != ""
	if !u.Scope.NeedsCopy(hasCommand) {
		return nil
	}
	dir := filepath.Join(u.private(), "scope")
	if err = u.Scope.PrivateCopy(dir); err == nil {
		c.ScriptDir = dir
		if note := u.Scope.PartialCopyNote(); note != "" {
			fmt.Fprintln(u.Stderr, "raymond: note: "+text.Escape(note))
		}
	}
	// Even if the workflow's files name no script, an agent may name one, so the copy is attempted. In that case an error
	// is ignored.
	if u.Scope.Workflow.HasScripts() || hasCommand {
		return err
	}
	return nil
}

// setBackends sets what runs prompts, scripts and done_when commands, and what saves the run.
func (s *Session) setBackends() {
	u, c := &s.setup, &s.Config
	noNewPrivs := u.Agents != nil && u.Agents.NoNewPrivs
	c.Scripts, c.Verifier = shell.Backend{Env: u.Env.Common, Trusted: u.Env.Trusted}, shell.Verifier{Env: u.Env.Common, NoNewPrivs: noNewPrivs}
	if u.Store != nil {
		c.Store = &syncedStore{File: u.Store, log: s.log}
	}
	if u.Backends.Scripts != nil {
		c.Scripts, c.Verifier = u.Backends.Scripts(u.Env), u.Backends.Checks(u.Env.Common)
	}
	if u.Agents == nil {
		return
	}
	run, cfg, newAgents := u.CurrentOptions(), *u.Agents, clis.New
	cfg.ClaudeArgs, cfg.Command = run.ClaudeArgs, run.Command
	if u.Backends.Agents != nil {
		newAgents = u.Backends.Agents
	}
	c.Agents = newAgents(cfg)
	s.clis = maps.Clone(c.Agents)
	if cfg.Proxy != nil {
		c.Meter = cfg.Proxy
	}
}

// OpenUndriven opens the logs of a run that is not driven. Reporters may be added to the session's Events.
// The caller must call Close.
func OpenUndriven(u Setup) (*Session, error) {
	s := &Session{setup: u}
	var err error
	if s.Events, s.log, err = openLogs(u); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// ShowCompleted completes the logs of a completed run, removes its temporary files, and prints its result.
// After a crash, the logs may lack the last events.
func ShowCompleted(u Setup) error {
	s, err := OpenUndriven(u)
	if err != nil {
		return err
	}
	s.Close()
	if err := Tidy(u.Dir); err != nil {
		return err
	}
	return PrintResult(u.Stdout, u.Options.Events, u.Run)
}
