package store

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/raymond-action/raymond-action/artifacts/workspace"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/session"
	"github.com/raymond-action/raymond-action/state"
)

// NoGit is the path of git if git is not installed.
const NoGit = os.DevNull

// Worktree saves and restores the files that agents work on. A nil *Worktree, for workspace: none,
// saves and restores nothing.
type Worktree struct {
	Git     *workspace.Git
	Dir     string // the working directory
	Started string // the commit that the event started the job with; "" if unknown
}

// Base returns the commit that the job checked out, or "" outside of a repository. The remote has
// this commit, whatever was committed on top of it.
func (w *Worktree) Base(ctx context.Context) string {
	if w == nil {
		return ""
	}
	return w.Git.Base(ctx, w.Dir, w.Started)
}

// Lacks reports whether git, which saves and restores files, is missing.
func (w *Worktree) Lacks() bool { return w != nil && w.Git.Path == NoGit }

// Snapshots returns the workspace snapshots in a directory of a run or of its checkpoint, or nil.
func (w *Worktree) Snapshots(dir string) *workspace.Snapshots {
	if w == nil {
		return nil
	}
	return w.Git.OpenSnapshots(session.SnapshotsPath(dir))
}

// restore restores saved work, and reports the notes about it. from is "" for none.
func (w *Worktree) restore(ctx context.Context, log Log, to Target, from string, where func(string) string) error {
	switch {
	case from == "":
		return nil
	case w == nil:
		log.Note("The work in the workspace was not restored: `workspace: none`.")
		return nil
	}
	if err := to.Freeze(); err != nil {
		return err
	}
	notes, err := w.Git.Restore(ctx, workspace.RestoreRequest{From: from, Dir: where})
	return ReportRestored(log, notes, err)
}

// ReportRestored reports the notes of a restore, or turns its error into a problem.
func ReportRestored(log Log, notes []string, err error) error {
	if conflict, ok := errors.AsType[*workspace.Conflict](err); ok {
		return &problem.Problem{Class: problem.ClassConflict, Where: "workspace", What: conflict.Error(),
			Hint: "check the repository out again, or continue with the current files with workspace: none; nothing was overwritten"}
	}
	if err != nil {
		return problem.OfMachine("workspace", err)
	}
	for _, note := range notes {
		log.Notice(note)
	}
	log.Note(notes...)
	return nil
}

// snapshotsWithin is the time limit for restoring workspace snapshots.
const snapshotsWithin = time.Minute

// unpackSnapshots adds the workspace snapshots of a checkpoint, if there are any, to those of a run.
// Only snapshots of the directories dirs are accepted.
func (w *Worktree) unpackSnapshots(ctx context.Context, dir string, from workspace.RestoreRequest, dirs []string) error {
	if w == nil {
		return nil
	}
	if _, err := os.Lstat(filepath.Join(from.From, workspace.BundleName)); err != nil {
		return nil //nolint:nilerr // the checkpoint has no snapshots
	}
	ctx, cancel := context.WithTimeout(ctx, snapshotsWithin)
	defer cancel()
	return w.Snapshots(dir).Unpack(ctx, from, dirs)
}

// MakeDirs creates the directories in which agents of a run work.
func MakeDirs(run *state.Run) error {
	for _, dir := range run.Dirs() {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return &problem.Problem{Class: problem.ClassConflict, Where: dir, What: "can't be created: " + err.Error()}
		}
	}
	return nil
}
