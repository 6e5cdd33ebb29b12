package main

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"

	"github.com/raymond-action/raymond-action/artifacts/workspace"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/ask"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/checkpoints"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/confine"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/options"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/session"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/snapshots"
	"github.com/raymond-action/raymond-action/internal/cage"
	"github.com/raymond-action/raymond-action/internal/untrusted/secrets"
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/agents"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
)

// drive drives a run at a shell, and prints its result or says why there is none. given
// are answers to its questions; others are asked for at the terminal, where there is one.
func (a *App) drive(u session.Setup, given []runner.Update) (err error) {
	o := u.Options
	for _, job := range u.Scope.WithoutStates(o.Jobs) {
		a.warn("--job " + job + ": no state of the workflow belongs to this job")
	}
	if u.Dir, err = session.Dir(o.StateDir, u.Run.WorkflowID); err != nil {
		return err
	}
	u.Store.SetHistory(o.History)
	env := session.Environ(a.Environ)
	u.Env = session.Env{Common: env, Trusted: env}
	if !o.Cage.IsOff() {
		u.Env.Common = session.Without(env, o.ScriptEnv)
	}
	u.Agents = &agents.Config{Env: u.Env.Common, Paths: paths(o, a.Getenv), Folder: cliFolder(o, u.Dir)}
	u.Hide.Printed, u.Stops = secrets.NewRedactor(a.Environ).Text, session.Listen(session.StopOptions{})
	u.Out = session.Out{
		Stdout: a.Stdout, Stderr: a.Stderr, Traces: session.Traces{Environ: a.Environ, Version: toldVersion()},
	}
	shown := a.consoleOptions(o, u.Run.WorkflowID)
	people := &screened{Shell: ask.NewShell(given, a.terminal(shown.Terminal, u.Hide.Printed)), isShared: shown.Terminal}
	defer people.Close()
	u.Others.People = people
	u.Others.Snapshots = a.newSnapshots(o, u.Dir)
	if u.Others.HandOver, err = a.handOver(u); err != nil {
		return err
	}
	needs, err := needsOf(u)
	if err != nil {
		return err
	}
	cages, err := a.newCages(o, needs, u)
	if err != nil {
		return err
	}
	defer cages.Close()
	u.Env.Cages, u.Env.Private = cages, cages.Private()
	s, err := session.Open(u)
	if err != nil {
		return err
	}
	if s.IsIdle() {
		s.Close()
		return errors.Join(session.Tidy(u.Dir), session.Outcome(u.Run, o.StateDir))
	}
	s.Events.Model.Resume(u.Run)
	people.console = report.NewConsole(a.Stderr, s.Events.Model, shown)
	s.Events.Add("console", people.console)
	run, err := s.Run(context.Background())
	s.Close()
	if err != nil {
		return err
	}
	if run.Progress.Status == state.Completed {
		return session.PrintResult(a.Stdout, o.Events, run)
	}
	p := session.Outcome(run, o.StateDir)
	if p.Class == problem.ClassCancelled {
		p.Code = u.Stops.ExitCode()
	}
	return p
}

// cliFolder is where the agent CLIs of the run whose own folder is dir have folders of their own; "" for those of the user.
func cliFolder(o *options.Options, dir string) string {
	if o.Cage.IsOff() || cage.Program == "" {
		return ""
	}
	return session.CLIFolder(dir)
}

// bring brings the conversations that a run needs to where its agent CLIs look for them, from where they keep them in other
// folders; "" is the user's home.
func bring(to agents.Config, run *state.Run, folders ...string) error {
	from := to
	var errs []error
	for _, from.Folder = range folders {
		errs = append(errs, checkpoints.BringTalks(agents.New(from), agents.New(to), run))
	}
	if err := errors.Join(errs...); err != nil {
		return &problem.Problem{Class: problem.ClassRuntime, Where: "conversations", What: err.Error()}
	}
	return nil
}

// needsOf has the agent CLIs of a run find its conversations, and returns what they need in a cage.
func needsOf(u session.Setup) (runner.Needs, error) {
	if err := bring(*u.Agents, u.Run, "", session.CLIFolder(u.Dir)); err != nil || u.Agents.Folder == "" {
		return runner.Needs{}, err
	}
	needs, err := session.Needs(*u.Agents, u.Now(), u.Scope, u.Options.Jobs)
	if err != nil {
		err = &problem.Problem{Class: problem.ClassRuntime, Where: "agent CLIs", What: err.Error()}
	}
	return needs, err
}

// handOver is what hands the agents' work over to scripts; nil where no script gets it.
func (a *App) handOver(u session.Setup) (func(context.Context, runner.Work, string) (runner.HandedOver, error), error) {
	if !u.Scope.HandsOver(u.Options.Jobs) {
		return nil, nil
	}
	g, err := gitOf(u.Options, a.Environ)
	if err != nil {
		return nil, &problem.Problem{Class: problem.ClassRuntime, Where: "work=true", What: err.Error(), Hint: "install git"}
	}
	found, isKept := snapshots.Kept(u.Dir)
	if !isKept {
		if found, err = snapshots.Look(context.Background(), g, u.Run.Dir, ""); err == nil {
			err = errors.Join(os.MkdirAll(u.Dir, 0o700), found.Keep(u.Dir))
		}
	}
	if err != nil {
		return nil, &problem.Problem{Class: problem.ClassRuntime, Where: "work=true", What: err.Error()}
	}
	return found.HandOver(g), nil
}

// newSnapshots keeps the files that agents work on, below the run's own folder; nil where
// that is not wanted.
func (a *App) newSnapshots(o *options.Options, dir string) snapshots.Taker {
	if o.Workspace != options.WorkspaceGit {
		return nil
	}
	all, err := snapshotsIn(dir, o, a.Environ)
	if err != nil {
		a.warn("--workspace git: no snapshots are taken: " + err.Error())
		return nil
	}
	return all
}

// snapshotsIn returns the snapshots of the run whose own folder is dir.
func snapshotsIn(dir string, o *options.Options, environ []string) (*workspace.Snapshots, error) {
	g, err := gitOf(o, environ)
	if err != nil {
		return nil, err
	}
	return g.OpenSnapshots(snapshots.Path(dir)), nil
}

// gitOf is git as it is used beside a run.
func gitOf(o *options.Options, environ []string) (*workspace.Git, error) {
	path, err := workspace.Find(environ)
	return &workspace.Git{Path: path, Env: environ, IsFree: o.Cage.IsOff()}, err
}

// paths are those of the agent CLIs that a flag or the environment names.
func paths(o *options.Options, getenv func(string) string) map[string]string {
	paths := maps.Clone(o.CLIs)
	for _, backend := range protocol.Backends() {
		if path := getenv(options.CLIVar(backend)); path != "" && paths[backend] == "" {
			paths[backend] = path
		}
	}
	return paths
}

// screened are People who may share the screen with a console.
type screened struct {
	*ask.Shell
	console  *report.Console
	isShared bool
}

// Open implements runner.People. The console draws no live lines over what somebody types.
func (p *screened) Open(run *state.Run) {
	if p.isShared {
		asks := len(run.OpenQuestions()) > 0 && !p.IsSettled()
		_ = p.console.SetLive(!asks) // a screen that can't be written to fails again, and that is told
	}
	p.Shell.Open(run)
}

// terminal is where somebody reads and types; nil where nobody does. hasScreen says that
// stderr is a terminal. If it isn't, questions are written to the one that is stdin.
func (a *App) terminal(hasScreen bool, hide func(string) string) *ask.Terminal {
	switch {
	case a.Stdin == nil || !ask.IsPresent(a.Stdin):
		return nil
	case hasScreen:
		return ask.NewTerminal(a.Stdin, a.Stderr, hide)
	}
	return ask.NewTerminal(a.Stdin, a.Stdin, hide)
}

// newCages makes the cages of a run at a shell. The caller closes them.
func (a *App) newCages(o *options.Options, needs runner.Needs, u session.Setup) (*confine.Cages, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, &problem.Problem{Class: problem.ClassRuntime, Where: "working directory", What: err.Error()}
	}
	var hidden []string
	for _, path := range []string{o.StateDir, o.DebugDir, o.Events} {
		if path != "" && path != "-" && !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		if path != "" && path != "-" {
			hidden = append(hidden, path)
		}
	}
	return confine.New(o.Cage, confine.Site{
		Environ: u.Env.Common, Dir: u.Run.Dir, Workspace: dir, Hidden: hidden,
		Needs: needs,
		Label: func(flag string) string { return "--" + flag }, Tell: func(line string) { a.warn(line) },
	})
}
