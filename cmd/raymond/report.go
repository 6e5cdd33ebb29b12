package main

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/raymond-action/raymond-action/artifacts/workspace"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/runs"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/session"
	"github.com/raymond-action/raymond-action/internal/untrusted/secrets"
	"github.com/raymond-action/raymond-action/runner/agents"
	"github.com/raymond-action/raymond-action/state"
)

func (a *App) reportCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "report WORKFLOW_ID", Short: "write a page about a run",
		Long: "report writes all that is known of a run as one HTML file, WORKFLOW_ID.html unless -o names another\n" +
			"one, and prints its name: a timeline, the conversations of its agents, costs, waits and, where\n" +
			"there are snapshots, the files that changed.",
	}
	o, asJSON := a.addFlags(cmd)
	out := runs.Output{Stdout: a.Stdout}
	cmd.Flags().StringVarP(&out.File, "output", "o", "", "write to `FILE` (-: stdout, which is the default of --json)")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		out.AsJSON = *asJSON
		if cmd.Flags().Changed("output") && out.File == "" {
			o.Reject(problem.Usage("--output", "is empty", "name a file, or - for stdout"))
		}
		if err := errors.Join(o.Check(), checkID(args)); err != nil {
			return err
		}
		return runs.PrintReport(out, a.source(o.StateDir, args[0]), args[0])
	}
	return cmd
}

// source is where the report of a run in a state folder comes from. Its conversations are in its own folder, if it ran in a
// cage.
func (a *App) source(stateDir, id string) runs.Source {
	c := agents.Config{Env: session.Environ(a.Environ), Folder: session.CLIFolder(filepath.Join(stateDir, id))}
	if _, err := os.Stat(c.Folder); err != nil {
		c.Folder = ""
	}
	s := runs.Source{StateDir: stateDir, Agents: agents.New(c), Hide: secrets.NewRedactor(a.Environ).Text,
		Next: func(run *state.Run) string { return session.Outcome(run, stateDir).Hint }}
	if path, err := workspace.Find(a.Environ); err == nil {
		s.Git = &workspace.Git{Path: path, Env: a.Environ}
	}
	return s
}
