package main

import (
	"github.com/spf13/cobra"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/options"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/runs"
)

// addFlags defines the flags of commands that read runs without changing them.
func (a *App) addFlags(cmd *cobra.Command) (o *options.Options, asJSON *bool) {
	o, asJSON = a.newOptions(cmd), new(bool)
	o.AddStateDir()
	o.Switch("json", "print JSON for programs", options.Into(asJSON, options.ParseBool))
	return o, asJSON
}

func (a *App) listCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "list", Short: "list the runs in the state directory"}
	o, asJSON := a.addFlags(cmd)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		if len(args) > 0 {
			o.Reject(problem.Usage("arguments", "list takes no arguments", "raymond status WORKFLOW_ID shows one run"))
		}
		if err := o.Check(); err != nil {
			return err
		}
		return runs.PrintAll(a.Stdout, o.StateDir, *asJSON)
	}
	return cmd
}

func (a *App) statusCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "status WORKFLOW_ID", Short: "show the status of a run"}
	o, asJSON := a.addFlags(cmd)
	onRun(cmd, o, func(id string) error { return runs.Print(a.Stdout, o.StateDir, id, *asJSON) })
	return cmd
}
