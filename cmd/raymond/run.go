package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/raymond-action/raymond-action/internal/untrusted/secrets"
	"github.com/raymond-action/raymond-action/internal/untrusted/text"

	"github.com/spf13/cobra"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/options"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/scope"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/session"
	"github.com/raymond-action/raymond-action/runner/claude"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
)

// addRun makes cmd start a workflow.
func (a *App) addRun(cmd *cobra.Command) {
	o := a.newOptions(cmd)
	o.AddAll()
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 && !cmd.HasParent() && o.NumGiven() == 0 {
			return cmd.Help()
		}
		return errors.Join(o.Check(), a.run(cmd, o, args))
	}
}

// run starts a workflow. Nothing is started when a flag is wrong, but what is
// wrong with the path is told in the same go.
func (a *App) run(cmd *cobra.Command, o *options.Options, args []string) error {
	if err := a.checkPath(cmd, args); err != nil {
		return err
	}
	if o.HasProblems() {
		return scope.CheckPath(args[0])
	}
	s, err := scope.Open(args[0])
	if err != nil {
		return err
	}
	defer s.Close()
	run, warnings, err := session.NewRun(o, s)
	if err != nil {
		return err
	}
	if !o.Quiet {
		a.warn(warnings...)
	}
	store, err := state.Create(o.StateDir, run.WorkflowID, session.Holder())
	if err != nil {
		return err
	}
	defer store.Close()
	return a.drive(session.Setup{Options: o, Scope: s, Run: run, Store: store})
}

// warn prints warnings, a line each.
func (a *App) warn(warnings ...string) {
	for _, w := range warnings {
		fmt.Fprintln(a.Stderr, "raymond: warning: "+text.Escaped(problem.Bounded(w)))
	}
}

// checkPath says what is wrong with the arguments of a command that takes one
// workflow.
func (a *App) checkPath(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return problem.Usage("PATH", "is missing", "name a directory, a zip archive or a state file")
	}
	if _, err := os.Stat(args[0]); err != nil && !cmd.HasParent() {
		what := fmt.Sprintf("%q is no command, file or directory", args[0])
		return problem.Usage("PATH", what, didYouMean(args[0], commandNames(cmd.Root()), "raymond "))
	}
	if len(args) > 1 {
		return problem.Usage("PATH", fmt.Sprintf("%d arguments are given, want one", len(args)), "quote names with blanks")
	}
	return nil
}

// drive drives a run at a shell, and prints its result or says why there is none.
func (a *App) drive(u session.Setup) (err error) {
	o := u.Options
	if u.Dir, err = session.Dir(o.StateDir, u.Run.WorkflowID); err != nil {
		return err
	}
	u.Scripts = session.Environ(a.Environ)
	u.CLI = &claude.Backend{Path: o.Claude, Env: u.Scripts}
	if o.Claude == "" {
		u.CLI.Path = a.Getenv("RAYMOND_CLAUDE")
	}
	u.Hide.Printed, u.Stops = secrets.NewRedactor(a.Environ).Text, session.Listen(session.StopOptions{})
	u.Out = session.Out{Stdout: a.Stdout, Stderr: a.Stderr}
	s, err := session.Open(u)
	if err != nil {
		return err
	}
	s.Events.Add("console", report.NewConsole(a.Stderr, a.consoleOptions(o, u.Run.WorkflowID)))
	run, err := s.Run(context.Background())
	s.Close()
	if err != nil {
		return err
	}
	if run.Progress.Status == state.Completed {
		return session.PrintResult(a.Stdout, o.Events, run)
	}
	p := session.Outcome(run)
	if o.IsGiven("state-dir") {
		again := "resume " + run.WorkflowID
		p.Hint = strings.Replace(p.Hint, again, again+" --state-dir "+o.StateDir, 1)
	}
	if p.Class == problem.ClassCancelled {
		p.Code = u.Stops.ExitCode()
	}
	return p
}

// consoleOptions are how the run is shown to a person; id is what a resume would
// name, "" for a run that can't be resumed.
func (a *App) consoleOptions(o *options.Options, id string) report.ConsoleOptions {
	opt := report.ConsoleOptions{Quiet: o.Quiet, Verbose: o.Verbose(), WorkflowID: id}
	if f, ok := a.Stderr.(*os.File); ok {
		opt.Width, opt.Terminal = report.Terminal(f)
	}
	opt.Color = opt.Terminal && a.Getenv("NO_COLOR") == ""
	return opt
}
