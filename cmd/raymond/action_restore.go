package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/artifacts/slots"
	"github.com/raymond-action/raymond-action/artifacts/workspace"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/runner/claude/transcript"
	"github.com/raymond-action/raymond-action/state"
)

// putBack brings a run from its checkpoint to this machine: work, conversations,
// then the state, without which nothing of it would be gone on with.
func (x *action) putBack(ctx context.Context, d *drive, t *taken) (*state.Run, error) {
	m, from := t.found.Manifest, t.found.Dir
	work := filepath.Join(from, "workspace")
	trees, err := savedTrees(work)
	if err != nil {
		return nil, err
	}
	where := checkpoint.Relocation(m.Places, x.placesHere(), trees)
	if len(trees) > 0 && x.in.Workspace == job.WorkspaceNone {
		x.notes = append(x.notes, "The work in the workspace was not put back: `workspace: none`.")
	} else if len(trees) > 0 {
		if err := x.scope.freeze(filepath.Join(x.dir, "scope")); err != nil {
			return nil, err
		}
		if err := x.restoreWork(ctx, work, where); err != nil {
			return nil, err
		}
	}
	run, err := t.run.Relocate(where)
	if err != nil {
		return nil, err
	}
	run.Scope = x.scope.path
	if run.Dir, err = os.Getwd(); err != nil {
		return nil, err
	}
	for _, dir := range directories(run) {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, &problem.Problem{Class: problem.ClassConflict, Where: dir, What: "can't be made: " + err.Error()}
		}
	}
	if t.isOver {
		return run, x.install(run, from)
	}
	if err := x.placeTranscripts(d, t.found, where); err != nil {
		return nil, err
	}
	if slices.Contains(m.Lacks(), "transcripts") {
		run.Forget(func(string) bool { return true })
	}
	return run, x.install(run, from)
}

// showAgain brings back what a run that is completed has left: its work, its outputs
// and its page. Nothing starts, and nothing is stored.
func (x *action) showAgain(ctx context.Context, t *taken) error {
	x.o.stateDir = x.dir
	d := &drive{app: x.app, o: x.o, host: x.host(), scope: x.scope, resumed: true}
	x.differences(t)
	var err error
	if d.run, err = x.putBack(ctx, d, t); err != nil {
		return err
	}
	if err := d.logs(); err != nil {
		return err
	}
	err = x.openPage(d)
	d.fan.Close()
	x.run, x.stored = d.run, t.found.Artifact.Name
	x.owed.Summary = false // it is written
	x.noteOwed()
	return err
}

// placeTranscripts puts conversations where the agent CLI of this machine looks
// for them.
func (x *action) placeTranscripts(d *drive, found *slots.Found, where func(string) string) error {
	sessions := transcript.Folder{Env: d.host.agents}
	for _, t := range found.Manifest.Transcripts {
		from := filepath.Join(found.Dir, filepath.FromSlash(checkpoint.TranscriptName(t.Session)))
		if err := sessions.Place(t.Session, where(t.Dir), from); err != nil {
			return &problem.Problem{Class: problem.ClassRuntime, Where: "transcript " + t.Session, What: err.Error()}
		}
		x.notePlaced(sessions, t, where(t.Dir))
	}
	return nil
}

// savedTrees are the tops of the git worktrees of which a checkpoint has work.
func savedTrees(dir string) ([]string, error) {
	if _, err := os.Stat(filepath.Join(dir, "index.json")); errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	trees, err := workspace.Trees(dir)
	if err != nil {
		return nil, &problem.Problem{Class: problem.ClassBadState, Where: "workspace", What: err.Error()}
	}
	var tops []string
	for _, t := range trees {
		tops = append(tops, t.Dir)
	}
	return tops, nil
}

func (x *action) restoreWork(ctx context.Context, from string, where func(string) string) error {
	restored, err := x.git().Restore(ctx, workspace.Restoring{
		From: from, Dir: where, Token: x.in.GitHubToken, ServerURL: x.app.Getenv("GITHUB_SERVER_URL"), TempRoot: x.dir,
	})
	var conflict *workspace.Conflict
	if errors.As(err, &conflict) {
		return &problem.Problem{Class: problem.ClassConflict, Where: "workspace", What: conflict.Error(),
			Hint: "check the repository out afresh; nothing was overwritten"}
	}
	if err != nil {
		return &problem.Problem{Class: problem.ClassRuntime, Where: "workspace", What: err.Error()}
	}
	for _, note := range restored.Notes {
		x.notes = append(x.notes, note)
		x.log.Annotate(annotation("notice", note))
	}
	return nil
}

// git is git as the step uses it.
func (x *action) git() *workspace.Git {
	return &workspace.Git{Env: job.ScriptEnviron(x.app.Environ, nil)}
}

// install writes the files of a run that was taken up.
func (x *action) install(run *state.Run, from string) error {
	dir := filepath.Join(x.dir, run.WorkflowID)
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o700)); err != nil {
		return err
	}
	for _, name := range []string{"events.jsonl", "logs"} {
		err := os.Rename(filepath.Join(from, name), filepath.Join(dir, name))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	// What an earlier try of this step left is of no more use than its machine.
	for _, ext := range []string{".json", ".journal"} {
		if err := os.RemoveAll(filepath.Join(x.dir, run.WorkflowID+ext)); err != nil {
			return err
		}
	}
	store, err := state.Create(x.dir, run.WorkflowID, holder())
	if err != nil {
		return err
	}
	return errors.Join(store.Fold(run, nil), store.Close())
}
