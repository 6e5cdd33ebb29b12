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

// rerunCommand returns the command that starts a new run from a state execution of an earlier run.
func (a *App) rerunCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "rerun WORKFLOW_ID --from N", Short: "run a workflow again from a state execution of an earlier run",
		Long: "rerun starts a new run from the moment when a state execution of an earlier run was about to start,\n" +
			"with the same results, variables, return stacks and conversations. Current prompts and scripts are\n" +
			"used. The earlier run is not changed, and its cost does not count. If there is a snapshot of the files\n" +
			"(--workspace git), it is restored in a new git worktree; without a snapshot, or with --workspace none,\n" +
			"the current files are used. raymond history lists the state executions.",
	}
	o := a.newOptions(cmd)
	o.AddAll()
	o.Resumes = true
	from := ""
	o.Add("from", "WHERE", "state execution to start from: its number, STATE for the state's last execution, or STATE#k for its k-th", options.Into(&from, options.NotEmpty))
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
	if err := copyConversations(config, run, session.RunDir(o.StateDir, id)); err != nil {
		return err
	}
	var shots *workspace.Snapshots
	if !o.IsGiven("workspace") || o.Workspace != options.WorkspaceNone {
		if shots, err = a.existingSnapshots(o.StateDir, id, o.Cage.IsOff()); err != nil {
			return &problem.Problem{Class: problem.ClassRuntime, Where: "git", What: err.Error(), Hint: "--workspace none uses the current files"}
		}
	}
	ready, notes, err := point.Prepare(context.Background(), run, clis.New(*config), shots)
	if err != nil {
		return problem.OfMachine("rerun of "+id, err)
	}
	for _, line := range notes {
		fmt.Fprintln(a.Stderr, "raymond: note: "+text.Escape(line))
	}
	if shots != nil {
		o.Workspace = options.WorkspaceGit // the earlier run had snapshots
	}
	return a.drive(session.Setup{Options: o, Scope: s, Run: ready, Store: store}, nil)
}
