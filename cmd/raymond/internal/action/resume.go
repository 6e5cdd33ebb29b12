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
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/session"
	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/runner"
	clis "github.com/raymond-action/raymond-action/runner/clis"
	"github.com/raymond-action/raymond-action/runner/transcripts"
	"github.com/raymond-action/raymond-action/state"
	"github.com/raymond-action/raymond-action/state/journal"
)

// resume restores a run and opens its state. If another job may still be running a part of the run
// and no other agent is due, the run stays unchanged, because the step that joins that part must
// find it so.
func resume(ctx context.Context, s *step, b *readyRun) error {
	var joined *merged
	if b.isStored() {
		var err error
		if joined, err = joinParts(ctx, s, b); err != nil {
			return err
		}
		defer joined.remove()
		now := b.lookup
		isRunning := slices.ContainsFunc(joined.parts, func(p part) bool { return p.Running })
		if now.was = joined.run; isRunning && b.was.WorkflowID != s.in.Resume && !isDue(ctx, s, b.flow, now) {
			b.run = joined.run
			return notDue(s.log, b.run)
		}
	}
	if err := noteRun(s, b.was); err != nil {
		return err
	}
	b.began = checkpoints.Began{KeyOf: keptKeyOf(s.event, s.in, b.manifest.KeyOrigin), Checkout: b.manifest.Checkout, Input: b.manifest.Input, Supersedes: b.manifest.Supersedes}
	differences(s.log, s.in.Input, b.lookup, b.base)
	if b.run = b.was; b.isStored() {
		if err := putBack(ctx, s, b, joined); err != nil {
			return err
		}
	} else if err := bringLocal(s, b.was.WorkflowID, b.was); err != nil {
		return err
	}
	if b.how == shows {
		return nil
	}
	if err := openRun(s, b); err != nil || b.isStored() {
		return err
	}
	return bringLocalWork(ctx, s, b, b.run) // the state is locked now, so no other process changes it
}

// openRun opens the state of a restored run, with the options of the step.
func openRun(s *step, b *readyRun) (err error) {
	now := s.options.ForNewRun() // never from the state file, which agents could have written
	path := filepath.Join(s.dirs.state, b.run.WorkflowID+".json")
	err = errors.Join(session.CheckResume(&now, b.run, b.flow.Scope, path), session.CheckAgentCommand(&now, b.flow.Scope, s.options.Jobs))
	if err != nil {
		return err
	}
	if job.InputValue(s.env.Getenv, "budget") == "" && (s.in.NoPrompts || !b.flow.HasPromptsOf(s.options.Jobs)) {
		now.BudgetUSD = 0 // a job without prompts spends nothing, and its default budget must not replace the run's
	}
	if s.part() != nil {
		now.BudgetUSD = shareOf(b, now.BudgetUSD)
	}
	b.changed = &now
	if b.file, b.run, err = journal.Open(s.dirs.state, b.run.WorkflowID, session.Holder()); err != nil {
		return err
	}
	b.file.SetIntegrityLog(s.note.seals)
	takeMeta(s.log, s.options.Meta, b.run)
	if toldKey(s.event, s.in) == "" { // the run was not continued by a dispatch
		b.run.Progress.Continuations = 0
	}
	return nil
}

// putBack restores a run from its checkpoint: work and conversations first, then the state. If it
// fails, the state is missing, so that no later step continues the run.
func putBack(ctx context.Context, s *step, b *readyRun, joined *merged) (err error) {
	if b.run, err = bringBack(ctx, s, b, joined); err != nil {
		return err
	}
	if err := install(s.dirs, s.note, b.run, b.found.Dir); err != nil || s.in.Workspace == job.WorkspaceNone {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, snapshotsWithin)
	defer cancel()
	shots := s.git.OpenSnapshots(session.SnapshotsPath(s.dirs.run(b.run.WorkflowID)))
	if err := unpackSnapshots(ctx, shots, restoring(b.found, joined.where), checkpoints.Dirs(b.run)); err != nil { // workspace snapshots are optional
		s.log.note("The workspace snapshots were not restored: " + err.Error() + ".")
	}
	return nil
}

// snapshotsWithin is the time limit for restoring workspace snapshots.
const snapshotsWithin = time.Minute

// unpackSnapshots adds the workspace snapshots of a checkpoint, if there are any, to others. Only
// snapshots of the directories dirs are accepted.
func unpackSnapshots(ctx context.Context, to *workspace.Snapshots, from workspace.RestoreRequest, dirs []string) error {
	if _, err := os.Lstat(filepath.Join(from.From, workspace.BundleName)); err != nil {
		return nil //nolint:nilerr // the checkpoint has no snapshots
	}
	return to.Unpack(ctx, from, dirs)
}

// restoreWork restores saved work into the workspace.
func restoreWork(ctx context.Context, s *step, b *readyRun, from workspace.RestoreRequest) error {
	if err := b.flow.Freeze(filepath.Join(s.dirs.own, "scope"), s.options.IsGiven("agent-command")); err != nil {
		return err
	}
	notes, err := s.git.Restore(ctx, from)
	b.hasWork = workspace.HasWork(from.From)
	return restored(s.log, notes, err)
}

// bringBack restores the work and the conversations of a resumed or followed run from its
// checkpoint, but not the run's own files, and returns the run with the paths of this machine.
func bringBack(ctx context.Context, s *step, b *readyRun, joined *merged) (*state.Run, error) {
	switch trees, err := savedTrees(filepath.Join(b.found.Dir, "workspace")); {
	case err != nil:
		return nil, err
	case len(trees) == 0:
	case s.in.Workspace == job.WorkspaceNone:
		s.log.note("The work in the workspace was not restored: `workspace: none`.")
	default:
		if err := restoreWork(ctx, s, b, restoring(b.found, joined.where)); err != nil {
			return nil, err
		}
	}
	run := joined.run
	if err := joined.bringWork(ctx, s); err != nil {
		return nil, err
	}
	run.Scope, run.Dir = b.flow.Path, s.dirs.work
	if err := makeDirs(run); err != nil || b.how == shows {
		return run, err
	}
	agents := conversationsOf(s)
	own := placing{agents: agents, talks: b.talks, found: b.found, where: joined.where}
	if err := errors.Join(own.all(), joined.placeTranscripts(agents, b.talks)); err != nil {
		return nil, err
	}
	if slices.Contains(b.found.Manifest.Missing(), "transcripts") {
		run.ForgetConversations(func(string) bool { return true })
	}
	return run, nil
}

// restoring describes which work is restored and where.
func restoring(found *slots.Found, where func(string) string) workspace.RestoreRequest {
	return workspace.RestoreRequest{From: filepath.Join(found.Dir, "workspace"), Dir: where}
}

// restored reports the notes of a restore, or turns its error into a problem.
func restored(log *jobLog, notes []string, err error) error {
	if conflict, ok := errors.AsType[*workspace.Conflict](err); ok {
		return &problem.Problem{Class: problem.ClassConflict, Where: "workspace", What: conflict.Error(),
			Hint: "check the repository out again, or continue with the current files with workspace: none; nothing was overwritten"}
	}
	if err != nil {
		return problem.OfMachine("workspace", err)
	}
	for _, note := range notes {
		log.notice(note)
	}
	log.note(notes...)
	return nil
}

// makeDirs creates the directories in which agents of a run work.
func makeDirs(run *state.Run) error {
	for _, dir := range checkpoints.Dirs(run) {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return &problem.Problem{Class: problem.ClassConflict, Where: dir, What: "can't be created: " + err.Error()}
		}
	}
	return nil
}

// placing copies conversations of a checkpoint to where the agent CLIs of this machine look for
// them.
type placing struct {
	agents map[string]runner.AgentCLI
	talks  *checkpoints.Talks
	found  *slots.Found
	where  func(dir string) string
	own    map[string]bool // sessions whose conversations are restored; nil for all
	// isKept is set if an existing conversation stays when it begins with the stored one.
	isKept bool
}

func (p placing) all() error {
	for _, t := range p.found.Manifest.Transcripts {
		if p.own != nil && !p.own[t.Session] {
			continue
		}
		if err := p.one(t); err != nil {
			return &problem.Problem{Class: problem.ClassRuntime, Where: "transcript " + t.Session, What: err.Error()}
		}
	}
	return nil
}

// one restores a conversation and records it for the post phase.
func (p placing) one(t checkpoint.Transcript) error {
	cli, ok := p.agents[t.Backend]
	if !ok {
		return errors.New("belongs to the agent " + t.Backend + ", which this program does not have")
	}
	c := runner.Conversation{ID: t.Session, CLI: t.CLIID, Dir: p.where(t.Dir)}
	from := filepath.Join(p.found.Dir, filepath.FromSlash(t.Name()))
	if there, ok := cli.Find(c, []string{c.Dir}); ok && p.isKept && transcripts.HasPrefix(there.Path, from) {
		return nil
	}
	if err := cli.Place(c, from); err != nil {
		return err
	}
	p.talks.AddPlaced(cli, c)
	return nil
}

// bringLocal copies the conversations that a run needs from a run on this machine, whose agents may
// have run with or without a cage.
func bringLocal(s *step, id string, run *state.Run) error {
	for _, folder := range []string{"", session.CLIDir(s.dirs.run(id))} {
		if err := checkpoints.BringTalks(clis.New(clis.Config{Envs: environs(s.env, s.in), Folder: folder}), conversationsOf(s), run); err != nil {
			return problem.OfMachine("conversations", err)
		}
	}
	return nil
}

// relocation returns a function that maps directories of the checkpoint's machine to this one.
func relocation(here checkpoint.MachineDirs, found *slots.Found) (func(string) string, error) {
	trees, err := savedTrees(filepath.Join(found.Dir, "workspace"))
	return checkpoint.Relocation(found.Manifest.Dirs, here, trees), err
}

// savedTrees returns the top directories of the git worktrees whose work a checkpoint contains.
func savedTrees(dir string) ([]string, error) {
	trees, err := workspace.Trees(dir)
	if err != nil {
		err = &problem.Problem{Class: problem.ClassBadState, Where: "workspace", What: err.Error()}
	}
	return trees, err
}

// moveIfThere renames a file of a checkpoint. A missing file is not an error.
func moveIfThere(from, to string) error {
	err := files.Rename(from, to)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// install writes the files of a restored run.
func install(dirs folders, note *stepNote, run *state.Run, from string) error {
	dir := dirs.run(run.WorkflowID)
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o700)); err != nil {
		return err
	}
	err := moveIfThere(filepath.Join(from, "logs"), filepath.Join(dir, "logs"))
	if err = errors.Join(err, note.seals.Place(filepath.Join(from, "events.jsonl"), dirs.events(run.WorkflowID))); err != nil {
		return err
	}
	// A state file from an earlier attempt of this step is out of date.
	if err := os.RemoveAll(filepath.Join(dirs.state, run.WorkflowID+".json")); err != nil {
		return err
	}
	file, err := journal.Create(dirs.state, run.WorkflowID, session.Holder())
	if err != nil {
		return err
	}
	file.SetIntegrityLog(note.seals)
	// The journal comes with the checkpoint, and the run continues it on this machine.
	err = note.seals.Place(filepath.Join(from, checkpoint.HistoryName), filepath.Join(dirs.state, run.WorkflowID+journal.Ext))
	if err == nil {
		err = file.WriteSnapshot(run, nil, nil)
	}
	return errors.Join(err, file.Close())
}
