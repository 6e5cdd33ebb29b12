package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/raymond-action/raymond-action/artifacts/workspace"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/ask"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/confine"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/options"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/session"
	"github.com/raymond-action/raymond-action/internal/cage"
	"github.com/raymond-action/raymond-action/internal/untrusted/secrets"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/clis"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
)

// drive drives a run that was started at a shell. It prints the result of a completed run, and returns a
// problem if the run stops for another reason. given contains answers from flags; the user can answer
// further questions at the terminal.
func (a *App) drive(u session.Setup, given []runner.QuestionUpdate) (err error) {
	o := u.Options
	for _, job := range u.Scope.JobsWithoutStates(o.Jobs) {
		a.warn("--job " + job + ": no state of the workflow belongs to this job")
	}
	u.Dir = session.RunDir(o.StateDir, u.Run.WorkflowID)
	u.Agents = a.clis(o, u.Dir)
	u.Env = session.Env{Common: u.Agents.Env, Trusted: session.Environ(a.Environ)}
	u.Config.Redact, u.Stops = secrets.NewRedactor(a.Environ).Text, session.Listen(session.StopOptions{})
	u.Stdout, u.Stderr, u.TraceEnviron, u.Version = a.Stdout, a.Stderr, a.Environ, shownVersion()
	shown := a.consoleOptions(o, u.Run.WorkflowID)
	var terminal *ask.Terminal // nil if no user can type
	if a.Stdin != nil && ask.IsInteractive(a.Stdin) {
		var out io.Writer = a.Stdin // if stderr is not a terminal, questions are written to the terminal of stdin
		if shown.Terminal {
			out = a.Stderr
		}
		terminal = ask.NewTerminal(a.Stdin, out, u.Config.Redact)
	}
	people := &screenPrompter{TerminalPrompter: ask.NewTerminalPrompter(given, terminal), isShared: shown.Terminal}
	defer people.Close()
	u.Config.Prompter = people
	if o.Workspace == options.WorkspaceGit {
		if u.Snapshots, err = a.snapshots(u.Dir, o.Cage.IsOff()); err != nil {
			a.warn("--workspace git: no snapshots are taken: " + err.Error())
		}
	}
	if u.Config.HandOver, err = a.handOver(u); err != nil {
		return problem.OfMachine("work=true", err)
	}
	cages, err := a.newCages(u)
	if err != nil {
		return err
	}
	defer cages.Close()
	u.Env.Cages, u.Env.PrivateDir = cages, cages.PrivateDir()
	s, err := session.Open(u)
	if err != nil {
		return err
	}
	if s.IsIdle() {
		s.Close()
		return errors.Join(session.Tidy(u.Dir), session.StopProblem(u.Run, o.StateDir))
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
	p := session.StopProblem(run, o.StateDir)
	if p.Class == problem.ClassCancelled {
		p.Code = u.Stops.ExitCode()
	}
	return p
}

// clis returns the configuration of the agent CLIs for a run. dir is the run's own directory. With a
// cage, the CLIs keep their files below dir.
func (a *App) clis(o *options.Options, dir string) *clis.Config {
	c := &clis.Config{Env: session.Environ(a.Environ), Paths: o.Paths(a.Getenv)}
	if !o.Cage.IsOff() {
		c.Env = session.WithoutVariables(c.Env, o.ScriptEnv)
		if cage.EntryProgram != "" {
			c.Folder = session.CLIDir(dir)
		}
	}
	return c
}

// copyConversations copies the conversations of a run to the directories that its agent CLIs use now.
// They may be in the directories that the CLIs use without a cage, or in the run's own directory dir.
func copyConversations(to *clis.Config, run *state.Run, dir string) error {
	from := *to
	var errs []error
	for _, from.Folder = range []string{"", session.CLIDir(dir)} {
		errs = append(errs, session.CopyConversations(clis.New(from), clis.New(*to), run))
	}
	return problem.OfMachine("conversations", errors.Join(errs...))
}

// handOver returns the function that hands the agents' work over to scripts. It returns nil if no script
// gets the work. At the first call for a run, it records the state of the repository.
func (a *App) handOver(u session.Setup) (func(context.Context, runner.Work, string) (runner.HandOver, error), error) {
	if !u.Scope.HasHandOver(u.Options.Jobs) {
		return nil, nil
	}
	g, err := a.git(u.Options.Cage.IsOff())
	if err != nil {
		return nil, err
	}
	found, isKept := session.LoadCheckout(u.Dir)
	if !isKept {
		if found, err = session.InspectCheckout(context.Background(), g, u.Run.Dir, ""); err == nil {
			err = errors.Join(os.MkdirAll(u.Dir, 0o700), found.Save(u.Dir))
		}
	}
	return found.HandOver(g), err
}

// git returns the git program that handles the run's files. git runs in a separate cage unless isFree is true.
func (a *App) git(isFree bool) (*workspace.Git, error) {
	path, err := workspace.Find(a.Environ)
	return &workspace.Git{Path: path, Env: a.Environ, IsUncaged: isFree}, err
}

// snapshots returns the snapshots of a run's files. dir is the run's own directory. There may be no
// snapshots yet.
func (a *App) snapshots(dir string, isFree bool) (*workspace.Snapshots, error) {
	g, err := a.git(isFree)
	if err != nil {
		return nil, err
	}
	return g.OpenSnapshots(session.SnapshotsPath(dir)), nil
}

// existingSnapshots returns the snapshots of a run's files. It returns nil if none were taken.
func (a *App) existingSnapshots(stateDir, id string, isFree bool) (*workspace.Snapshots, error) {
	dir := session.RunDir(stateDir, id)
	if _, err := os.Lstat(session.SnapshotsPath(dir)); err != nil {
		return nil, nil
	}
	return a.snapshots(dir, isFree)
}

// screenPrompter is a TerminalPrompter that may share its terminal with the console that shows the run.
type screenPrompter struct {
	*ask.TerminalPrompter
	console  *report.Console
	isShared bool
}

// UpdateQuestions implements runner.Prompter. While questions are open, the console draws no live lines,
// so that the user can type.
func (p *screenPrompter) UpdateQuestions(run *state.Run) {
	if p.isShared {
		asks := len(run.OpenQuestions()) > 0 && !p.IsSettled()
		_ = p.console.SetLive(!asks) // an error occurs again at the next write to the screen, which reports it
	}
	p.TerminalPrompter.UpdateQuestions(run)
}

// newCages creates the cages of a run at a shell, and copies the run's conversations to where its agent
// CLIs find them. The caller must close the cages.
func (a *App) newCages(u session.Setup) (*confine.Cages, error) {
	o := u.Options
	dir, err := os.Getwd()
	if err != nil {
		return nil, problem.OfMachine("working directory", err)
	}
	if err := copyConversations(u.Agents, u.Run, u.Dir); err != nil {
		return nil, err
	}
	var needs runner.Needs
	if u.Agents.Folder != "" {
		if needs, err = session.CageNeeds(*u.Agents, u.CurrentOptions(), u.Scope, o.Jobs); err != nil {
			return nil, problem.OfMachine("agent CLIs", err)
		}
	}
	var hidden []string
	for _, path := range []string{o.StateDir, o.DebugDir, o.Events} {
		if path != "" && path != "-" {
			abs, _ := filepath.Abs(path) // can't fail, because os.Getwd succeeded
			hidden = append(hidden, abs)
		}
	}
	return confine.New(o.Cage, confine.Site{
		Environ: u.Env.Common, Dir: u.Run.Dir, Workspace: dir, Hidden: hidden, Needs: needs,
		Label: o.FlagName, Info: a.warn, Warn: a.warn,
	})
}
