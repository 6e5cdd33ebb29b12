package action

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/raymond-action/raymond-action/artifacts/workspace"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/checkpoints"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/state"
)

// keepLocalWork saves the work of a run that has stopped beside its state on this machine. The post
// phase does this if the main phase had no time, unless another job has driven the run in between.
// If the work was never restored, the saved work stays unchanged.
func keepLocalWork(ctx context.Context, s *step, e *ending) error {
	limit, ok := e.within(lastSave)
	dir := s.dirs.run(e.run.WorkflowID)
	if !ok || s.in.Workspace != job.WorkspaceGit || !s.note.get().Local || s.isPost && checkpoints.ReadLocal(dir).Seq == e.run.Progress.Seq {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	notes, err := checkpoints.Local{Git: s.git, Base: baseOf(ctx, s), Dir: dir, Last: !e.isCancelled()}.Keep(ctx, e.run)
	s.log.reportLosses(notes)
	if err != nil && e.stops.Since() >= 0 {
		return nil
	}
	return storeProblem(err)
}

// bringLocalWork restores the work of a run that is stored on this machine.
func bringLocalWork(ctx context.Context, s *step, b *readyRun, run *state.Run) error {
	dir := s.dirs.run(run.WorkflowID)
	kept := checkpoints.ReadLocal(dir)
	if s.in.Workspace != job.WorkspaceGit || len(kept.LeftOut) > 0 {
		return nil // the losses were reported when the work was saved
	}
	if now := run.Progress.Seq; kept.Seq != now {
		s.log.say(fmt.Sprintf("run %s is at step %d, and its work was last stored at step %d: changes in between are lost unless they are in the checkout",
			run.WorkflowID, now, kept.Seq))
	}
	if kept.Folder == "" {
		return nil
	}
	if err := restoreWork(ctx, s, b, workspace.RestoreRequest{From: filepath.Join(dir, filepath.Base(kept.Folder))}); err != nil {
		return err
	}
	return makeDirs(run)
}
