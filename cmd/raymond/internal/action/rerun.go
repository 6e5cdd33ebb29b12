package action

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/artifacts/workspace"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/checkpoints"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/runs"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/session"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
	"github.com/raymond-action/raymond-action/state/journal"
)

// beginRerun creates a run that begins from a state execution of the run that was found, with the
// current states and options. The old run stays unchanged.
func beginRerun(ctx context.Context, s *step, b *readyRun) error {
	dir, err := readable(s.dirs.state, b.lookup)
	if err != nil {
		return err
	}
	point, err := runs.FindPoint(dir, b.was.WorkflowID, s.in.Rerun, "input resume")
	if err != nil {
		return err
	}
	run, err := rerunOf(s, b, point)
	if err != nil {
		return err
	}
	if err := filesOfRerun(ctx, s, b, point); err != nil {
		return err
	}
	if run, err = moveRerun(s, b, run); err != nil {
		return err
	}
	if err := keep(s, b, run); err != nil {
		return err
	}
	s.log.say(fmt.Sprintf("run %s begins from state execution %d (%s) of run %s", run.WorkflowID, point.Exec, point.State, b.was.WorkflowID))
	if s.in.Input != "" {
		s.log.say("the input is ignored: the run continues with the original input of run " + b.was.WorkflowID)
	}
	return nil
}

// readable returns a state directory in which the run can be read with its history.
func readable(here string, l lookup) (string, error) {
	if !l.isStored() {
		return here, nil
	}
	dir, id := filepath.Join(l.found.Dir, "state"), l.was.WorkflowID
	err := os.MkdirAll(filepath.Join(dir, id), 0o700)
	for from, to := range map[string]string{
		"state.json": id + ".json", checkpoint.HistoryName: id + journal.Ext, "events.jsonl": filepath.Join(id, "events.jsonl"),
	} {
		err = errors.Join(err, moveIfThere(filepath.Join(l.found.Dir, from), filepath.Join(dir, to)))
	}
	return dir, problem.OfMachine("checkpoint", err)
}

// rerunOf creates the new run with the conversations and directories of the old one.
func rerunOf(s *step, b *readyRun, point runs.Point) (*state.Run, error) {
	o := s.options
	o.WorkflowID = newID(s.key)
	run, warnings, err := session.NewRerun(o, b.flow.Scope, point)
	if err != nil {
		return nil, err
	}
	run.Options = s.options.ForNewRun() // never from the history, which agents could have written
	tellWarnings(s.env.Stderr, warnings)
	return run, session.CheckAgentCommand(&run.Options, b.flow.Scope, o.Jobs)
}

// moveRerun gives the run its own copies of conversations on this machine, and adapts its
// directories to this machine.
func moveRerun(s *step, b *readyRun, run *state.Run) (*state.Run, error) {
	where := func(dir string) string { return dir }
	agents := conversationsOf(s)
	if b.isStored() {
		var err error
		if where, err = relocation(s.places, b.found); err != nil {
			return nil, err
		}
		if err := (placing{agents: agents, talks: b.talks, found: b.found, where: where, isKept: true}).all(); err != nil {
			return nil, err
		}
	} else if err := bringLocal(s, b.was.WorkflowID, run); err != nil {
		return nil, err
	}
	notes, err := runs.CopyConversations(run, agents, where)
	if err != nil {
		return nil, problem.OfMachine("conversations", err)
	}
	for _, note := range notes {
		s.log.warn(note)
	}
	moved, err := run.Relocate(where)
	if err != nil {
		return nil, err
	}
	moved.Scope, moved.Dir = b.flow.Path, s.dirs.work
	for _, t := range checkpoint.Sessions(moved) {
		if cli := agents[t.Backend]; cli != nil {
			b.talks.AddPlaced(cli, runner.Conversation{ID: t.ID, CLI: t.CLIID, Dir: t.Dirs[0]})
		}
	}
	return moved, makeDirs(moved)
}

// filesOfRerun restores the workspace files from the time before the state execution started.
func filesOfRerun(ctx context.Context, s *step, b *readyRun, point runs.Point) error {
	asTheyAre := "the files are as checked out by the job: "
	if s.in.Workspace == job.WorkspaceNone {
		s.log.say(asTheyAre + "workspace: none")
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, snapshotsWithin)
	defer cancel()
	all, err := snapshotsOf(ctx, s, b, point)
	var list []workspace.Snapshot
	if err == nil {
		list, err = all.List(ctx)
	}
	list = workspace.SnapshotsBefore(list, point.Exec)
	switch {
	case err != nil:
		s.log.say(asTheyAre + "the workspace snapshots of the run can't be read: " + err.Error())
		return nil
	case len(list) == 0:
		s.log.say(asTheyAre + fmt.Sprintf("no workspace snapshot exists before state execution %d", point.Exec))
		return nil
	}
	if err := b.flow.Freeze(filepath.Join(s.dirs.own, "scope"), s.options.IsGiven("agent-command")); err != nil {
		return err
	}
	for _, one := range list {
		notes, err := all.Restore(ctx, one)
		if errors.Is(err, workspace.ErrNoWorktree) { // an agent had created the worktree
			notes, err = all.Checkout(ctx, one, one.Dir)
		}
		if err := restored(s.log, nil, err); err != nil {
			return err
		}
		for _, note := range append(notes, runs.DescribeSnapshotAge(point, one)) {
			s.log.say(note)
		}
	}
	return nil
}

// snapshotsOf returns the workspace snapshots of the run that is run again, with the directories of
// this machine.
func snapshotsOf(ctx context.Context, s *step, b *readyRun, point runs.Point) (*workspace.Snapshots, error) {
	if !b.isStored() {
		return s.git.OpenSnapshots(session.SnapshotsPath(s.dirs.run(b.was.WorkflowID))), nil
	}
	all := s.git.OpenSnapshots(session.SnapshotsPath(b.found.Dir))
	where, err := relocation(s.places, b.found)
	if err != nil {
		return nil, err
	}
	run, err := point.Run.Relocate(where)
	if err != nil {
		return nil, err
	}
	return all, unpackSnapshots(ctx, all, restoring(b.found, where), append([]string{s.dirs.work}, checkpoints.Dirs(run)...))
}
