package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/raymond-action/raymond-action/artifacts/workspace"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/options"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/runs"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/session"
	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/runner/agents"
	"github.com/raymond-action/raymond-action/state"
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
	from := ""
	o.Add("from", "WHERE", "state execution to begin with: its number, or STATE for the last one of a state, or STATE#k for the k-th", options.Into(&from, options.NotEmpty))
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		if !o.IsGiven("from") {
			o.Reject(problem.Usage("--from", "is missing", "raymond history WORKFLOW_ID lists the state executions"))
		}
		if err := errors.Join(o.Check(), checkID(args)); err != nil {
			return err
		}
		return a.rerun(o, args[0], from)
	}
	return cmd
}

func (a *App) rerun(o *options.Options, id, from string) error {
	point, err := runs.Find(o.StateDir, id, from, "--from")
	if err != nil {
		return err
	}
	s, err := session.Reopen(point.Run)
	if err != nil {
		return err
	}
	defer s.Close()
	run, warnings, err := session.NewRerun(o, s, point.Run, point.Exec)
	if err != nil {
		return err
	}
	store, err := create(o, s, run)
	if err != nil {
		return err
	}
	defer store.Close()
	if !o.Quiet {
		a.warn(warnings...)
	}
	ready, err := a.prepare(o, point, run)
	if err != nil {
		return err
	}
	for _, line := range ready.Notes {
		fmt.Fprintln(a.Stderr, "raymond: note: "+text.Escaped(line))
	}
	if ready.HasWorktrees {
		o.Workspace = options.WorkspaceGit // as in the run before
	}
	err = a.drive(session.Setup{Options: o, Scope: s, Run: ready.Run, Store: store}, nil)
	if _, missing := os.Lstat(filepath.Join(o.StateDir, run.WorkflowID+".json")); missing != nil { // it never began
		return errors.Join(err, ready.Copies.Remove())
	}
	return err
}

// prepare makes what a run needs that begins at a point of another one.
func (a *App) prepare(o *options.Options, point runs.Point, run *state.Run) (*runs.Prepared, error) {
	id := point.Run.WorkflowID
	clis := a.clis(o, session.Dir(o.StateDir, run.WorkflowID))
	err := bring(clis, run, session.Dir(o.StateDir, id))
	if err != nil {
		return nil, err
	}
	var shots *workspace.Snapshots
	if !o.IsGiven("workspace") || o.Workspace != options.WorkspaceNone {
		if shots, err = a.keptSnapshots(o.StateDir, id, o.Cage.IsOff()); err != nil {
			return nil, &problem.Problem{Class: problem.ClassRuntime, Where: "git", What: err.Error(), Hint: "--workspace none leaves the files as they are"}
		}
	}
	ready, err := point.Prepare(context.Background(), run, agents.New(*clis), shots)
	return ready, problem.OfMachine("rerun of "+id, err)
}
