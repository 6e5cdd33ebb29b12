package main

import (
	"github.com/spf13/cobra"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/runs"
)

// historyCommand lists what a run did.
func (a *App) historyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "history WORKFLOW_ID", Short: "list the state executions of a run",
		Long: "history prints a line for each state execution of a run, in the order in which they started:\n" +
			"its number, the agent, the state, how it ended, what it cost, how long it took, its attempts,\n" +
			"its conversation, where it led, and the files that it changed.",
	}
	o, asJSON := a.addFlags(cmd)
	onRun(cmd, o, func(id string) error {
		shots, err := a.keptSnapshots(o.StateDir, id, false)
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
