package main

import (
	"github.com/spf13/cobra"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/runs"
)

// historyCommand returns the command that lists the state executions of a run.
func (a *App) historyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "history WORKFLOW_ID", Short: "list the state executions of a run",
		Long: "history prints one line for each state execution of a run, in the order in which they started: number,\n" +
			"agent, state, status, cost, duration, attempts, conversation, transition and changed files.",
	}
	o, asJSON := a.addFlags(cmd)
	onRun(cmd, o, func(id string) error {
		shots, err := a.existingSnapshots(o.StateDir, id, false)
		if err != nil {
			return problem.OfMachine("git", err)
		}
		list, err := runs.History(o.StateDir, id, shots)
		switch {
		case err != nil:
			return err
		case *asJSON:
			return runs.PrintJSON(a.Stdout, list)
		}
		return runs.PrintHistory(a.Stdout, list)
	})
	return cmd
}
