package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/options"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/scope"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/session"
	"github.com/raymond-action/raymond-action/state"
)

// addRun makes cmd start a workflow.
func (a *App) addRun(cmd *cobra.Command) {
	o := a.newOptions(cmd)
	o.AddAll()
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 && !cmd.HasParent() && o.NumGiven() == 0 {
			return cmd.Help()
		}
		return errors.Join(o.Check(), a.run(cmd, o, args))
	}
}

// run starts a workflow. Nothing is started when a flag is wrong, but what is
// wrong with the path is told in the same go.
func (a *App) run(cmd *cobra.Command, o *options.Options, args []string) error {
	if err := a.checkPath(cmd, args); err != nil {
		return err
	}
	s, err := scope.Open(args[0])
	if err != nil {
		return err
	}
	defer s.Close()
	if o.HasProblems() {
		return nil
	}
	run, warnings, err := session.NewRun(o, s, ".")
	if err != nil {
		return err
	}
	store, err := a.create(o, s, run, warnings)
	if err != nil {
		return err
	}
	defer store.Close()
	return a.drive(session.Setup{Options: o, Scope: s, Run: run, Store: store}, nil)
}

// checkNeeds reports what a run with these options lacks: agent CLIs, prices for its budget, or who keeps from
// agents what trusted scripts get.
func checkNeeds(o *options.Options, s *scope.Scope, run state.Options) error {
	if err := session.CheckAgentCommand(&run, s, o.Jobs); err != nil {
		return err
	}
	return errors.Join(session.CheckPrices(o, s.Workflow, run), session.CheckScriptEnv(o, s, s.HasPromptsOf(o.Jobs), session.WhyNotConfined()))
}

// create takes the lock for a new run, which has all that it needs, and tells what is odd about its workflow.
func (a *App) create(o *options.Options, s *scope.Scope, run *state.Run, warnings []string) (*state.File, error) {
	if err := checkNeeds(o, s, run.Options); err != nil {
		return nil, err
	}
	store, err := state.Create(o.StateDir, run.WorkflowID, session.Holder())
	if err == nil && !o.Quiet {
		for _, w := range warnings {
			a.warn(w)
		}
	}
	return store, err
}
