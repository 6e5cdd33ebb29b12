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

// simulateCommand runs a workflow with scripted replies, or makes the file of
// replies from a run.
func (a *App) simulateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "simulate PATH --replies FILE",
		Short: "run a workflow with scripted replies instead of agents: no tokens, no network",
		Long: "simulate runs a workflow with the real engine and the real scripts, and takes what the agents\n" +
			"say from a file. If the file has an \"expect\" part and the run is not as expected, simulate says\n" +
			"what differs and exits with 1. --record makes such a file from a finished run: from its state,\n" +
			"events and transcripts.",
	}
	o := a.newOptions(cmd)
	o.AddSimulated()
	o.AddStateDir()
	var replies string
	o.Add("replies", "FILE", "what the agents say (YAML)", options.Into(&replies, options.NotEmpty))
	record := ""
	o.Add("record", "WORKFLOW_ID", "print the replies file of a finished run", options.Into(&record, anID))
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if o.IsGiven("record") {
			if len(args) > 0 || o.IsGiven("replies") {
				o.Reject(problem.Usage("--record", "goes with neither PATH nor --replies", ""))
			}
			if err := o.Check(); err != nil {
				return err
			}
			return a.record(o.StateDir, record)
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

// record prints a replies file, made from what is kept of a run.
func (a *App) record(stateDir, id string) error {
	report, err := a.readReport(stateDir, id)
	if err != nil {
		return err
	}
	replies, lacking := simulate.Record(report)
	for _, st := range lacking {
		fmt.Fprintln(a.Stderr, "raymond: warning: "+text.Escape(st)+": no transcript has all that was said in this state; complete its replies by hand")
	}
	return replies.Write(a.Stdout)
}
