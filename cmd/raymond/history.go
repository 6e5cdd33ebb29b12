package main

import (
	"errors"

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
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		if err := errors.Join(o.Check(), checkID(args)); err != nil {
			return err
		}
		shots, err := a.keptSnapshots(o.StateDir, args[0], false)
		if err != nil {
			return problem.OfMachine("git", err)
		}
		list, err := runs.History(o.StateDir, args[0], shots)
		switch {
		case err != nil:
			return err
		case *asJSON:
			return runs.PrintJSON(a.Stdout, list)
		}
		return runs.PrintHistory(a.Stdout, list)
	}
	return cmd
}
