package action

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/google/uuid"

	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/artifacts/slots"
	"github.com/raymond-action/raymond-action/artifacts/workspace"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/checkpoints"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/conversations"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/rerun"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/session"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/snapshots"
	"github.com/raymond-action/raymond-action/runner"
	clis "github.com/raymond-action/raymond-action/runner/agents"
	"github.com/raymond-action/raymond-action/state"
)

// beginRerun makes a new run that begins from a state execution of the one that was found, with
// the states and the options of now. Of that one nothing is changed.
func beginRerun(ctx context.Context, s *step, r *remarks, b placed) error {
	e := b.reruns
	dir, err := readable(s, e)
	if err != nil {
		return err
	}
	point, err := rerun.Source{StateDir: dir, ID: e.run.WorkflowID, Where: "input resume"}.Find(s.in.Rerun)
	if err != nil {
		return err
	}
	run, err := rerunOf(s, b, point)
	if err != nil {
		return err
	}
	if err := filesOfRerun(ctx, s, again{e, b.flow, point, r}); err != nil {
		return err
	}
	if run, err = moveRerun(s, b, run); err != nil {
		return err
	}
	if err := keep(s, b.readyRun, run); err != nil {
		return err
	}
	r.say(s, fmt.Sprintf("run %s begins from state execution %d (%s) of run %s", b.readyRun.run.WorkflowID, point.Exec, point.State, e.run.WorkflowID))
	if s.in.Input != "" {
		r.say(s, "the input is not taken: the run continues with what run "+e.run.WorkflowID+" had been given")
	}
	return nil
}

// readable returns the state folder in which a run can be read with its history.
func readable(s *step, e *earlierRun) (string, error) {
	if e.found == nil {
		return s.dirs.state, nil
	}
	dir, id := filepath.Join(e.found.Dir, "state"), e.run.WorkflowID
	err := os.MkdirAll(filepath.Join(dir, id), 0o700)
	for from, to := range map[string]string{
		"state.json": id + ".json", checkpoint.HistoryName: id + state.JournalExt, "events.jsonl": filepath.Join(id, "events.jsonl"),
	} {
		err = errors.Join(err, moveIfThere(filepath.Join(e.found.Dir, from), filepath.Join(dir, to)))
	}
	if err != nil {
		return "", machineProblem("checkpoint", err)
	}
	return dir, nil
}

// rerunOf makes the new run, with the conversations and the directories of the one before.
func rerunOf(s *step, b placed, point rerun.Point) (*state.Run, error) {
	o := s.options
	o.WorkflowID = job.WorkflowID(s.key, uuid.NewString()[:8])
	run, warnings, err := session.NewRerun(o, b.flow.Scope, point.Run, point.Exec)
	if err != nil {
		return nil, err
	}
	now := s.options.Alone() // never what a history says, which agents could have written
	run.Options = now
	tellWarnings(s, warnings)
	return run, session.CheckAgents(&run.Options, b.flow.Scope, o.Jobs)
}

// moveRerun gives a run conversations of its own on this machine, and the directories that it
// has here.
func moveRerun(s *step, b placed, run *state.Run) (*state.Run, error) {
	where := func(dir string) string { return dir }
	agents := conversationsOf(s)
	if e := b.reruns; e.found != nil {
		var err error
		if where, err = relocation(s, e.found); err != nil {
			return nil, err
		}
		p := placing{agents: agents, talks: b.talks, from: e.found.Dir, where: where, isKept: true}
		if err := placeTranscripts(e.found, p); err != nil {
			return nil, err
		}
	} else if err := bringLocal(s, e.run.WorkflowID, run); err != nil {
		return nil, err
	}
	copies, err := rerun.Copier{Agents: agents, Where: where, NewID: uuid.NewString}.Copy(run)
	if err != nil {
		return nil, &problem.Problem{Class: problem.ClassRuntime, Where: "conversations", What: err.Error()}
	}
	for _, note := range copies.Notes {
		s.voice.warn(note)
	}
	moved, err := run.Relocate(where)
	if err == nil {
		moved.Scope, moved.Dir = b.flow.Path, s.dirs.work
	}
	if err != nil {
		return nil, errors.Join(err, copies.Remove())
	}
	for _, t := range checkpoint.Sessions(moved) {
		if cli := agents[t.Backend]; cli != nil {
			b.talks.AddPlaced(cli, runner.Conversation{ID: t.ID, CLI: t.CLIID, Dir: t.Dirs[0]})
		}
	}
	return moved, makeDirs(moved)
}

// bringLocal brings the conversations that a run needs from those of a run that is kept on this machine, or of one that had no
// cage.
func bringLocal(s *step, id string, run *state.Run) error {
	for _, folder := range []string{"", session.CLIFolder(s.runDir(id))} {
		if err := conversations.Bring(clis.New(clis.Config{Envs: environs(s), Folder: folder}), conversationsOf(s), run); err != nil {
			return &problem.Problem{Class: problem.ClassRuntime, Where: "conversations", What: err.Error()}
		}
	}
	return nil
}

// makeDirs makes the directories in which agents of a run work.
func makeDirs(run *state.Run) error {
	for _, dir := range checkpoints.Dirs(run) {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return &problem.Problem{Class: problem.ClassConflict, Where: dir, What: "can't be made: " + err.Error()}
		}
	}
	return nil
}

// again is a run from one of whose state executions a new one begins.
type again struct {
	of      *earlierRun
	flow    *flow
	point   rerun.Point
	remarks *remarks
}

// filesOfRerun puts the files of the workspace back as they were when the state execution was
// about to start.
func filesOfRerun(ctx context.Context, s *step, a again) error {
	asTheyAre := "the files are as the job has checked them out: "
	if s.in.Workspace == job.WorkspaceNone {
		a.remarks.say(s, asTheyAre+"workspace: none")
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, snapshotsWithin)
	defer cancel()
	all, err := snapshotsOf(ctx, s, a)
	var list []workspace.Snapshot
	if err == nil {
		list, err = all.List(ctx)
	}
	list = workspace.Before(list, a.point.Exec)
	switch {
	case err != nil:
		a.remarks.say(s, asTheyAre+"the snapshots of the run can't be read: "+err.Error())
		return nil
	case len(list) == 0:
		a.remarks.say(s, asTheyAre+fmt.Sprintf("there is no snapshot of them before state execution %d", a.point.Exec))
		return nil
	}
	if err := a.flow.Freeze(filepath.Join(s.dirs.state, "scope")); err != nil {
		return err
	}
	for _, one := range list {
		notes, err := all.PutBack(ctx, one)
		if errors.Is(err, workspace.ErrNoWorktree) { // an agent had made it
			notes, err = all.Checkout(ctx, one, one.Dir)
		}
		if err != nil {
			return workProblem(err)
		}
		for _, note := range notes {
			a.remarks.say(s, note)
		}
		a.remarks.say(s, fmt.Sprintf("the files of %s are as they were after state execution %d", one.Dir, one.Exec))
	}
	return nil
}

// snapshotsOf are the snapshots of the run that is run again, with the directories of this
// machine.
func snapshotsOf(ctx context.Context, s *step, a again) (*workspace.Snapshots, error) {
	e := a.of
	if e.found == nil {
		return s.git().OpenSnapshots(snapshots.Path(s.runDir(e.run.WorkflowID))), nil
	}
	all := s.git().OpenSnapshots(snapshots.Path(e.found.Dir))
	where, err := relocation(s, e.found)
	if err != nil {
		return nil, err
	}
	run, err := a.point.Run.Relocate(where)
	if err != nil {
		return nil, err
	}
	return all, unpackSnapshots(ctx, s, all, unpacking{e.found, append([]string{s.dirs.work}, checkpoints.Dirs(run)...)})
}

// relocation returns where the directories of a checkpoint's machine lie here.
func relocation(s *step, found *slots.Found) (func(string) string, error) {
	trees, err := savedTrees(filepath.Join(found.Dir, "workspace"))
	return checkpoint.Relocation(found.Manifest.Places, s.places(), trees), err
}
