package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/runs"
)

// diffCommand compares two runs.
func (r reading) diffCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "diff WORKFLOW_ID WORKFLOW_ID", Short: "compare two runs side by side",
		Long: "diff prints two runs side by side: how they ended, what they cost, the path of each agent and\n" +
			"the files that they changed. A mark says where they differ: | both have something else, < only\n" +
			"the first run has it, > only the second. States that both went through stand beside each other.",
	}
	o := r.options(cmd)
	o.AddStateDir()
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		if err := errors.Join(o.Check(), checkTwoIDs(args)); err != nil {
			return err
		}
		return runs.Folder{Dir: o.StateDir, Environ: r.environ}.PrintDiff(r.stdout, args[0], args[1])
	}
	return cmd
}

// checkTwoIDs says what is wrong with the arguments of a command that takes two runs.
func checkTwoIDs(args []string) error {
	if len(args) != 2 {
		return problem.Usage("WORKFLOW_ID", fmt.Sprintf("%d arguments are given, want two", len(args)), "raymond list shows the runs")
	}
	return errors.Join(checkID(args[:1]), checkID(args[1:]))
}
