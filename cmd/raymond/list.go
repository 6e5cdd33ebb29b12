package main

import (
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/options"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/runs"
)

// reading has the commands that only read workflows and what runs have left.
type reading struct {
	environ []string
	stdout  io.Writer
	stderr  io.Writer
	options func(*cobra.Command) *options.Options // those that the flags of a command will hold
}

// reading returns the commands that only read.
func (a *App) reading() reading {
	return reading{environ: a.Environ, stdout: a.Stdout, stderr: a.Stderr, options: a.newOptions}
}

// addFlags gives cmd the flags that all of them have.
func (r reading) addFlags(cmd *cobra.Command) (o *options.Options, asJSON *bool) {
	o, asJSON = r.options(cmd), new(bool)
	o.AddStateDir()
	o.Switch("json", "print JSON for programs", func(b bool) { *asJSON = b })
	return o, asJSON
}

func (r reading) listCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "list", Short: "list the runs of the state folder"}
	o, asJSON := r.addFlags(cmd)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		if len(args) > 0 {
			o.Reject(problem.Usage("arguments", "list takes none", "raymond status WORKFLOW_ID shows one run"))
		}
		if err := o.Check(); err != nil {
			return err
		}
		return runs.PrintAll(r.stdout, o.StateDir, *asJSON)
	}
	return cmd
}

func (r reading) statusCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "status WORKFLOW_ID", Short: "show the status of a run"}
	o, asJSON := r.addFlags(cmd)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		if err := errors.Join(o.Check(), checkID(args)); err != nil {
			return err
		}
		return runs.Print(r.stdout, o.StateDir, args[0], *asJSON)
	}
	return cmd
}
