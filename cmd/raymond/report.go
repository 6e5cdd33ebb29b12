package main

import (
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/runs"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/session"
	"github.com/raymond-action/raymond-action/internal/untrusted/secrets"
	"github.com/raymond-action/raymond-action/runner/clis"
	"github.com/raymond-action/raymond-action/runner/insight"
)

func (a *App) reportCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "report WORKFLOW_ID", Short: "write a page about a run",
		Long: "report writes all that is known of a run as one HTML file, WORKFLOW_ID.html unless -o names another\n" +
			"one, and prints its name: a timeline, the conversations of its agents, costs, waits and, where\n" +
			"there are snapshots, the files that changed.",
	}
	o, asJSON := a.addFlags(cmd)
	file := cmd.Flags().StringP("output", "o", "", "write to `FILE` (-: stdout, which is the default of --json)")
	cmd.PreRun = func(*cobra.Command, []string) {
		if cmd.Flags().Changed("output") && *file == "" {
			o.Reject(problem.Usage("--output", "is empty", "name a file, or - for stdout"))
		}
	}
	onRun(cmd, o, func(id string) error {
		r, err := a.readReport(o.StateDir, id)
		if err != nil {
			return err
		}
		return runs.WriteReport(a.Stdout, *file, *asJSON, r)
	})
	return cmd
}

// readReport gathers what is known of a run in a state folder. Its conversations are in its own folder, if it ran in a
// cage.
func (a *App) readReport(stateDir, id string) (*insight.Report, error) {
	run, driver, err := runs.Read(stateDir, id)
	if err != nil {
		return nil, err
	}
	c := clis.Config{Env: session.Environ(a.Environ), Folder: session.CLIDir(filepath.Join(stateDir, id))}
	if _, err := os.Stat(c.Folder); err != nil {
		c.Folder = ""
	}
	shots, _ := a.keptSnapshots(stateDir, id, false) // without git the report has none
	return runs.BuildReport(runs.ReportSource{
		StateDir: stateDir, Run: run, IsDriven: driver != nil, Agents: clis.New(c), Snapshots: shots,
		Hide: secrets.NewRedactor(a.Environ).Text, Next: session.StopProblem(run, stateDir).Hint,
	})
}
