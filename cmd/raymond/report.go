package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/reports"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/session"
	"github.com/raymond-action/raymond-action/internal/untrusted/secrets"
	"github.com/raymond-action/raymond-action/runner/agents"
)

func (r reading) reportCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "report WORKFLOW_ID", Short: "write all that is known of a run"}
	o, asJSON := r.addFlags(cmd)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		if !*asJSON {
			o.Reject(problem.Usage("--json", "is missing: this version prints reports as JSON only", "add it"))
		}
		if err := errors.Join(o.Check(), checkID(args)); err != nil {
			return err
		}
		data, err := reports.Read(r.source(o.StateDir), args[0])
		if err != nil {
			return err
		}
		return reports.PrintJSON(r.stdout, data)
	}
	return cmd
}

// source is where the reports of the runs in a state folder come from.
func (r reading) source(stateDir string) reports.Source {
	return reports.Source{
		StateDir: stateDir, Agents: agents.New(agents.Config{Env: session.Environ(r.environ)}), Hide: secrets.NewRedactor(r.environ).Text,
	}
}
