package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/options"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/scope"
	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/runner/simulate"
)

// simulateCommand returns the command that runs a workflow with scripted replies, or creates a replies
// file from a run.
func (a *App) simulateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "simulate PATH --replies FILE",
		Short: "run a workflow with scripted replies instead of agents: no tokens, no network",
		Long: "simulate runs a workflow with the real engine and the real scripts, but takes the replies of the agents\n" +
			"from a file. If the file has an \"expect\" section and the run differs from it, simulate prints the\n" +
			"differences and exits with 1. --record makes such a file from the state, the events and the\n" +
			"transcripts of a finished run.",
	}
	o := a.newOptions(cmd)
	o.AddSimulated()
	o.AddStateDir()
	var replies string
	o.Add("replies", "FILE", "file with the replies of the agents (YAML)", options.Into(&replies, options.NotEmpty))
	record := ""
	o.Add("record", "WORKFLOW_ID", "print the replies file of a finished run", options.Into(&record, parseID))
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if o.IsGiven("record") {
			if len(args) > 0 || o.IsGiven("replies") {
				o.Reject(problem.Usage("--record", "can't be combined with PATH or --replies", ""))
			}
			if err := o.Check(); err != nil {
				return err
			}
			report, err := a.readReport(o.StateDir, record)
			if err != nil {
				return err
			}
			replies, lacking := simulate.Record(report)
			for _, st := range lacking {
				fmt.Fprintln(a.Stderr, "raymond: warning: "+text.Escape(st)+": the transcripts lack messages of this state; complete its replies by hand")
			}
			return replies.Write(a.Stdout)
		}
		if !o.IsGiven("replies") {
			o.Reject(problem.Usage("--replies", "is missing", "name a replies file, or make one with --record"))
		}
		if len(args) != 1 {
			return errors.Join(o.Check(), a.checkPath(cmd, args))
		}
		if err := o.Check(); err != nil {
			s, more := scope.Find(args[0])
			if more == nil {
				s.Close()
			}
			return errors.Join(err, more)
		}
		return a.simulate(o, args[0], replies)
	}
	return cmd
}
