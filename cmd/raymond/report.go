package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/raymond-action/raymond-action/artifacts/workspace"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/options"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/reports"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/session"
	"github.com/raymond-action/raymond-action/internal/untrusted/secrets"
	"github.com/raymond-action/raymond-action/runner/agents"
)

func (r reading) reportCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "report WORKFLOW_ID", Short: "write a page about a run",
		Long: "report writes all that is known of a run as one HTML file, WORKFLOW_ID.html unless -o names another\n" +
			"one, and prints its name: a timeline, the conversations of its agents, costs, waits and, where\n" +
			"there are snapshots, the files that changed. With --all it writes an index of all runs of the\n" +
			"state folder, " + reports.AllFile + ".",
	}
	o, asJSON := r.addFlags(cmd)
	out, all := reports.Output{Stdout: r.stdout}, false
	cmd.Flags().StringVarP(&out.File, "output", "o", "", "write to `FILE` (-: stdout, which is the default of --json)")
	o.Switch("all", "an index of all runs of the state folder", func(b bool) { all = b })
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		out.AsJSON = *asJSON
		if cmd.Flags().Changed("output") && out.File == "" {
			o.Reject(problem.Usage("--output", "is empty", "name a file, or - for stdout"))
		}
		if all {
			return r.reportAll(o, out, args)
		}
		if err := errors.Join(o.Check(), checkID(args)); err != nil {
			return err
		}
		return reports.Print(out, r.source(o.StateDir), args[0])
	}
	return cmd
}

// reportAll writes the index of all runs.
func (r reading) reportAll(o *options.Options, out reports.Output, args []string) error {
	if len(args) > 0 {
		o.Reject(problem.Usage("arguments", "report --all takes none", "raymond report WORKFLOW_ID writes the page of one run"))
	}
	if err := o.Check(); err != nil {
		return err
	}
	return reports.PrintAll(out, r.source(o.StateDir))
}

// source is where the reports of the runs in a state folder come from.
func (r reading) source(stateDir string) reports.Source {
	env := session.Environ(r.environ)
	s := reports.Source{StateDir: stateDir, Agents: agents.New(agents.Config{Env: env}), Hide: secrets.NewRedactor(r.environ).Text}
	if path, err := workspace.Find(r.environ); err == nil {
		s.Git = &workspace.Git{Path: path, Env: r.environ}
	}
	return s
}
