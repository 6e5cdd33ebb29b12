package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/options"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/scope"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/session"
	"github.com/raymond-action/raymond-action/state"
	"github.com/raymond-action/raymond-action/state/journal"
)

// addRun makes cmd the command that starts a workflow, with the flags of a run.
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

// run starts a workflow and drives the run. If a flag is invalid, nothing is started, but problems with
// the path are reported too.
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

// checkNeeds returns an error if a run with these options lacks something: the command for an agent,
// prices for its budget, or a cage that hides the variables of trusted scripts from agents.
func checkNeeds(o *options.Options, s *scope.Scope, run state.Options) error {
	if err := session.CheckAgentCommand(&run, s, o.Jobs); err != nil {
		return err
	}
	return errors.Join(session.CheckPrices(o, s.Workflow, run), session.CheckScriptEnv(o, s, s.HasPromptsOf(o.Jobs), session.WhyNotConfined()))
}

// create creates and locks the state file of a new run if checkNeeds finds no problem. It prints warnings
// about the workflow.
func (a *App) create(o *options.Options, s *scope.Scope, run *state.Run, warnings []string) (*journal.File, error) {
	if err := checkNeeds(o, s, run.Options); err != nil {
		return nil, err
	}
	store, err := journal.Create(o.StateDir, run.WorkflowID, session.Holder())
	if err == nil && !o.Quiet {
		for _, w := range warnings {
			a.warn(w)
		}
	}
	return store, err
}
