package action

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/artifacts/slots"
	"github.com/raymond-action/raymond-action/artifacts/workspace"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/checkpoints"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/conversations"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/session"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/snapshots"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/transcripts"
	"github.com/raymond-action/raymond-action/state"
)

// putBack brings a run from its checkpoint to this machine: work, conversations,
// then the state, without which nothing of it could continue.
func putBack(ctx context.Context, s *step, r *remarks, b placed) (*state.Run, error) {
	run, err := bringBack(ctx, s, r, b)
	if err != nil {
		return nil, err
	}
	if err := install(s, run, b.existing.found.Dir); err != nil {
		return nil, err
	}
	r.notes = append(r.notes, bringSnapshots(ctx, s, run, b.existing.found)...)
	return run, nil
}

// snapshotsWithin is how long it may take to bring snapshots back.
const snapshotsWithin = time.Minute

// bringSnapshots brings the snapshots of a run's files, where its checkpoint has any. That
// they can't be had is a note: the run can do without.
func bringSnapshots(ctx context.Context, s *step, run *state.Run, found *slots.Found) []string {
	if s.in.Workspace == job.WorkspaceNone {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, snapshotsWithin)
	defer cancel()
	shots := s.git().OpenSnapshots(snapshots.Path(s.runDir(run.WorkflowID)))
	if err := unpackSnapshots(ctx, s, shots, unpacking{found, checkpoints.Dirs(run)}); err != nil {
		return []string{"The snapshots of the files were not put back: " + err.Error() + "."}
	}
	return nil
}

// unpacking are the snapshots of a checkpoint, if it has any, and the directories of which they may be.
type unpacking struct {
	found *slots.Found
	dirs  []string
}

func unpackSnapshots(ctx context.Context, s *step, to *workspace.Snapshots, u unpacking) error {
	bundle := filepath.Join(u.found.Dir, "workspace", workspace.BundleName)
	if _, err := os.Lstat(bundle); err != nil {
		return nil //nolint:nilerr // there are none
	}
	where, err := relocation(s, u.found)
	if err != nil {
		return err
	}
	return to.Unpack(ctx, workspace.Arrival{
		Bundle: bundle, Limit: maxSnapshots, Dirs: u.dirs, Dir: where, Token: s.in.GitHubToken, ServerURL: s.getenv("GITHUB_SERVER_URL"),
	})
}

// maxSnapshots is how large a bundle of them may be, in bytes: any that a checkpoint holds.
const maxSnapshots = 256 << 20

// bringBack brings what a run that is resumed or followed needs from its checkpoint to this
// machine, but for the run's own files, and returns the run as it is there.
func bringBack(ctx context.Context, s *step, r *remarks, b placed) (*state.Run, error) {
	e := b.before()
	m, from := e.found.Manifest, e.found.Dir
	work := filepath.Join(from, "workspace")
	trees, err := savedTrees(work)
	if err != nil {
		return nil, err
	}
	where := checkpoint.Relocation(m.Places, s.places(), trees)
	if len(trees) > 0 && s.in.Workspace == job.WorkspaceNone {
		r.notes = append(r.notes, "The work in the workspace was not put back: `workspace: none`.")
	} else if len(trees) > 0 {
		if err := b.flow.Freeze(filepath.Join(s.dirs.state, "scope")); err != nil {
			return nil, err
		}
		restored, err := restoreWork(ctx, s, work, where)
		if err != nil {
			return nil, err
		}
		r.notes = append(r.notes, restored...)
		b.hasWork = workspace.Held(work)
	}
	run, err := e.run.Relocate(where)
	if err != nil {
		return nil, err
	}
	joined, err := joinParts(ctx, s, r, joining{run, e.found, b.services, b.flow.Workflow.JobOf})
	if err != nil {
		return nil, err
	}
	defer joined.remove()
	run = joined.run
	run.Scope, run.Dir = b.flow.Path, s.dirs.work
	if err := makeDirs(run); err != nil || e.isOver {
		return run, err
	}
	p := placing{agents: conversationsOf(s), talks: b.talks, from: e.found.Dir, where: where}
	if err := errors.Join(placeTranscripts(e.found, p), joined.placeTranscripts(s, b)); err != nil {
		return nil, err
	}
	if slices.Contains(m.Lacks(), "transcripts") {
		run.Forget(func(string) bool { return true })
	}
	return run, nil
}

// placeTranscripts puts the conversations of a checkpoint where the agent CLIs of this machine look
// for them.
func placeTranscripts(found *slots.Found, p placing) error {
	for _, t := range found.Manifest.Transcripts {
		if p.own != nil && !p.own[t.Session] {
			continue
		}
		if err := p.place(t); err != nil {
			return err
		}
	}
	return nil
}

// placing puts conversations of a checkpoint back.
type placing struct {
	agents map[string]runner.Agent
	talks  *conversations.Notes
	from   string // folder of the checkpoint's files
	where  func(dir string) string
	own    map[string]bool // the sessions whose conversations are put back; nil for all
	// isKept says that a conversation stays which is there already, and has what is stored of it.
	isKept bool
}

// place puts a conversation where its agent CLI looks for it, and notes it.
func (p placing) place(t checkpoint.Transcript) error {
	cli, ok := p.agents[t.Backend]
	if !ok {
		return &problem.Problem{Class: problem.ClassRuntime, Where: "transcript " + t.Session, What: "belongs to the agent " + t.Backend + ", which this program does not have"}
	}
	c := runner.Conversation{ID: t.Session, CLI: t.CLIID, Dir: p.where(t.Dir)}
	from := filepath.Join(p.from, filepath.FromSlash(t.Name()))
	if there, ok := cli.Find(c, []string{c.Dir}); ok && p.isKept && transcripts.Begins(there.Path, from) {
		return nil
	}
	if err := cli.Place(c, from); err != nil {
		return &problem.Problem{Class: problem.ClassRuntime, Where: "transcript " + t.Session, What: err.Error()}
	}
	p.talks.AddPlaced(cli, c)
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

// restoreWork puts the work of agents back. It returns notes for people.
func restoreWork(ctx context.Context, s *step, from string, where func(string) string) ([]string, error) {
	notes, err := s.git().Restore(ctx, workspace.Restoring{
		From: from, Dir: where, Token: s.in.GitHubToken, ServerURL: s.getenv("GITHUB_SERVER_URL"), TempRoot: s.dirs.state,
	})
	if err != nil {
		return nil, workProblem(err)
	}
	for _, note := range notes {
		s.voice.notice(note)
	}
	return notes, nil
}

// workProblem says why work can't be put back.
func workProblem(err error) error {
	var conflict *workspace.Conflict
	if errors.As(err, &conflict) {
		return &problem.Problem{Class: problem.ClassConflict, Where: "workspace", What: conflict.Error(),
			Hint: "check the repository out afresh; nothing was overwritten"}
	}
	return machineProblem("workspace", err)
}

// moveIfThere renames a file of a checkpoint, which may have none of that name.
func moveIfThere(from, to string) error {
	err := os.Rename(from, to)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// install writes the files of a run that is resumed.
func install(s *step, run *state.Run, from string) error {
	dir := s.runDir(run.WorkflowID)
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o700)); err != nil {
		return err
	}
	for _, name := range []string{"events.jsonl", "logs"} {
		if err := moveIfThere(filepath.Join(from, name), filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	if err := s.note.seals.Adopt(s.fileOfRun(run.WorkflowID, session.EventsFile)); err != nil {
		return err
	}
	// What an earlier try of this step left is of no more use than its machine.
	if err := os.RemoveAll(filepath.Join(s.dirs.state, run.WorkflowID+".json")); err != nil {
		return err
	}
	store, err := state.Create(s.dirs.state, run.WorkflowID, session.Holder())
	if err != nil {
		return err
	}
	store.SetSeal(s.note.seals)
	// From its journal, which came along, it goes on as that of this machine.
	err = moveIfThere(filepath.Join(from, checkpoint.HistoryName), filepath.Join(s.dirs.state, run.WorkflowID+state.JournalExt))
	if err == nil {
		err = store.Fold(run, nil, nil)
	}
	return errors.Join(err, store.Close())
}
