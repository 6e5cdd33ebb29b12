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
		Use: "report WORKFLOW_ID", Short: "write a report about a run",
		Long: "report writes one HTML file about a run and prints its name: a timeline, the conversations of the\n" +
			"agents, costs, waits and, if there are snapshots, the changed files. The file is WORKFLOW_ID.html\n" +
			"unless -o names another one.",
	}
	o, asJSON := a.addFlags(cmd)
	file := cmd.Flags().StringP("output", "o", "", "write to `FILE` (-: stdout, the default with --json)")
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

// readReport collects the data for a report on a run in a state directory. If the run had a cage, its
// conversations are read from its own directory.
func (a *App) readReport(stateDir, id string) (*insight.Report, error) {
	run, driver, err := runs.Read(stateDir, id)
	if err != nil {
		return nil, err
	}
	c := clis.Config{Env: session.Environ(a.Environ), Folder: session.CLIDir(filepath.Join(stateDir, id))}
	if _, err := os.Stat(c.Folder); err != nil {
		c.Folder = ""
	}
	shots, _ := a.existingSnapshots(stateDir, id, false) // without git, the report doesn't show changed files
	return runs.BuildReport(runs.ReportSource{
		StateDir: stateDir, Run: run, IsDriven: driver != nil, Agents: clis.New(c), Snapshots: shots,
		Hide: secrets.NewRedactor(a.Environ).Text, Next: session.StopProblem(run, stateDir).Hint,
	})
}
