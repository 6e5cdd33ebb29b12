package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/raymond-action/raymond-action/artifacts/workspace"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/options"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/runs"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/session"
	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/runner/clis"
)

// rerunCommand begins a run again from one of its state executions.
func (a *App) rerunCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "rerun WORKFLOW_ID --from N", Short: "run a workflow again from a state of an earlier run",
		Long: "rerun starts a new run that takes everything as it was when a state execution of another run was\n" +
			"about to start: results, variables, return stacks and conversations. Prompts and scripts are those\n" +
			"of now. The other run is not changed, and what it cost does not count. Where snapshots of the files\n" +
			"were taken (--workspace git), the files of then are put into a new git worktree. Without one, or\n" +
			"with --workspace none, they are as they are now. raymond history shows which executions there are.",
	}
	o := a.newOptions(cmd)
	o.AddAll()
	o.Resumes = true
	from := ""
	o.Add("from", "WHERE", "state execution to begin with: its number, or STATE for the last one of a state, or STATE#k for the k-th", options.Into(&from, options.NotEmpty))
	cmd.PreRun = func(*cobra.Command, []string) {
		if !o.IsGiven("from") {
			o.Reject(problem.Usage("--from", "is missing", "raymond history WORKFLOW_ID lists the state executions"))
		}
	}
	onRun(cmd, o, func(id string) error { return a.rerun(o, id, from) })
	return cmd
}

func (a *App) rerun(o *options.Options, id, from string) error {
	point, err := runs.FindPoint(o.StateDir, id, from, "--from")
	if err != nil {
		return err
	}
	s, err := session.Reopen(point.Run)
	if err != nil {
		return err
	}
	defer s.Close()
	if err := o.InheritProtection(point.Run.Options); err != nil {
		return err
	}
	run, warnings, err := session.NewRerun(o, s, point)
	if err != nil {
		return err
	}
	store, err := a.create(o, s, run, warnings)
	if err != nil {
		return err
	}
	defer store.Close()
	config := a.clis(o, session.RunDir(o.StateDir, run.WorkflowID))
	if err := bring(config, run, session.RunDir(o.StateDir, id)); err != nil {
		return err
	}
	var shots *workspace.Snapshots
	if !o.IsGiven("workspace") || o.Workspace != options.WorkspaceNone {
		if shots, err = a.keptSnapshots(o.StateDir, id, o.Cage.IsOff()); err != nil {
			return &problem.Problem{Class: problem.ClassRuntime, Where: "git", What: err.Error(), Hint: "--workspace none leaves the files as they are"}
		}
	}
	ready, told, err := point.Prepare(context.Background(), run, clis.New(*config), shots)
	if err != nil {
		return problem.OfMachine("rerun of "+id, err)
	}
	for _, line := range told {
		fmt.Fprintln(a.Stderr, "raymond: note: "+text.Escape(line))
	}
	if shots != nil {
		o.Workspace = options.WorkspaceGit // as in the run before
	}
	return a.drive(session.Setup{Options: o, Scope: s, Run: ready, Store: store}, nil)
}
