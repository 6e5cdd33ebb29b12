package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/raymond-action/raymond-action/examples"
	"github.com/raymond-action/raymond-action/state"
)

// addCompletion has a shell complete the ids of runs and the names of examples. Everything else is the name of a file.
func (a *App) addCompletion() {
	for cmd, o := range a.flags {
		switch {
		case strings.Contains(cmd.Use, "WORKFLOW_ID"):
			cmd.ValidArgsFunction = first(func() []string {
				ids, _ := state.List(o.StateDir) // without it there is nothing to offer
				return ids
			})
		case strings.Contains(cmd.Use, "EXAMPLE"):
			cmd.ValidArgsFunction = first(examples.Names)
		}
	}
}

// first completes the first argument of a command, of which all are known.
func first(known func() []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveDefault
		}
		return known(), cobra.ShellCompDirectiveNoFileComp
	}
}
