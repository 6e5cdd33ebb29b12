package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/artifacts/workspace"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/session"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
	"github.com/raymond-action/raymond-action/state/journal"
)

// isOpen reports whether anyone can read the stored checkpoints.
func (c *Config) isOpen() bool { return c.Keys == nil && c.IsPublic() }

// checkpoints stores a run as a sequence of checkpoints while it is driven and at its end. It has
// the methods of a Lease that don't depend on where the checkpoints are.
type checkpoints struct {
	c       *Config
	agents  map[string]runner.AgentCLI // have the conversations
	dir     string                     // the run's directory
	start   RunStart
	writer  *writer // nil if nothing is stored
	saver   *saver
	began   time.Time // when the run was restored; zero to store the first step at once
	urgency Urgency   // nil for none
	receipt Receipt
	isLost  bool // another job has the key, so nothing is ever stored
}

// begin starts to store the checkpoints of a run that was restored. It saves the chain of w.
func (s *checkpoints) begin(w *writer, to Target) error {
	s.writer, s.saver = w, newSaver(w)
	if s.receipt.Place = Elsewhere; to.HasPrompts && s.c.isOpen() {
		s.receipt.Omissions = []checkpoint.Omission{{What: "transcripts", Why: checkpoint.NoKey}}
	}
	return w.writeChain()
}

// Expedite implements Lease.
func (s *checkpoints) Expedite(u Urgency) { s.urgency = u }

// Offer implements runner.Checkpoints. The results of a step are stored at most an interval after
// the last save, however long the next step takes. While something needs a checkpoint, Offer stores
// the newest step as soon as possible, also after a failed save.
func (s *checkpoints) Offer(run *state.Run, now time.Time) (taken bool) {
	isUrgent := s.urgency != nil && s.urgency.NeedsCheckpoint()
	if isUrgent {
		may, isOver := s.saver.mayStart(now)
		if isOver {
			s.urgency.ExpectNoCheckpoints()
		}
		if !may {
			return isOver
		}
	} else if now.Sub(s.began) < s.c.Interval || !s.saver.isDue(now) {
		return false
	}
	shot, err := s.take(run)
	if err != nil {
		return true
	}
	s.saver.start(shot)
	return !isUrgent
}

// take makes a snapshot of the run.
func (s *checkpoints) take(run *state.Run) (*snapshot, error) {
	return takeSnapshot(run, manifest(s.writer.origin, s.start, run), s.dir, s.agents, s.c.Integrity)
}

// Stored implements runner.Checkpoints.
func (s *checkpoints) Stored() <-chan *state.Checkpoint { return s.saver.events }

// workTime is the time limit for finding out whether there is work to store.
const workTime = 30 * time.Second

// CheckResumable implements runner.Checkpoints.
func (s *checkpoints) CheckResumable(left []*state.Agent) error {
	if s.c.Event.IsFromFork() {
		return errors.New("its event is a fork's, and such runs are never resumed")
	}
	if !s.c.isOpen() {
		return nil
	}
	var lacks []string
	hasSession := func(f state.Frame) bool { return f.Session != nil }
	hasConversation := func(a *state.Agent) bool { return a.Session != nil || slices.ContainsFunc(a.Stack, hasSession) }
	if !s.c.Inputs.ResumeWithoutTranscript && slices.ContainsFunc(left, hasConversation) {
		lacks = append(lacks, "conversations")
	}
	if w := s.c.Worktree; w != nil && s.hasWork(w, (&state.Run{Dir: w.Dir, Agents: left}).Dirs()) {
		lacks = append(lacks, "work in the workspace")
	}
	if len(lacks) == 0 {
		return nil
	}
	return fmt.Errorf("without a state-key its %s can't be stored, because anyone can read the artifacts; set the input state-key (raymond keygen creates one)",
		strings.Join(lacks, " and "))
}

// hasWork reports whether the directories contain work that is in no commit of the remote and would
// have to be stored. It returns true if this can't be determined.
func (s *checkpoints) hasWork(w *Worktree, dirs []string) bool {
	to, err := os.MkdirTemp(s.c.Dir, "work-")
	if err != nil {
		return true
	}
	defer os.RemoveAll(to)
	ctx, cancel := context.WithTimeout(context.Background(), workTime)
	defer cancel()
	saved, err := w.Git.Save(ctx, workspace.SaveRequest{Dirs: dirs, Base: s.writer.packer.base, To: to})
	return err != nil && !errors.Is(err, workspace.ErrNoGit) || saved.HasWork
}

// StoreEnd implements Lease.
func (s *checkpoints) StoreEnd(ctx context.Context, run *state.Run, isLast bool) (Receipt, error) {
	if s.writer == nil || s.receipt.IsWhole {
		return s.Receipt(), nil
	}
	s.receipt.Checkpoint = s.writer.chain.last(run)
	if ctx.Err() != nil {
		s.saver.stop()
		return s.Receipt(), nil
	}
	shot, err := s.take(run)
	if err != nil {
		return s.Receipt(), err
	}
	shot.isLast = isLast
	event, err := s.saver.final(ctx, shot)
	s.receipt = Receipt{
		Place: Elsewhere, Name: s.writer.chain.Name, Checkpoint: s.writer.chain.last(run), IsWhole: err == nil, Omissions: s.writer.omissions(), Event: event,
	}
	if notes := s.writer.last.notes; s.c.isOpen() {
		s.c.Log.Note(notes...) // the warning at the start named the losses already
	} else {
		s.c.Log.ReportLosses(notes)
	}
	return s.Receipt(), err
}

// Receipt implements Lease.
func (s *checkpoints) Receipt() Receipt {
	r := s.receipt
	if s.c.Event.IsFromFork() {
		r.Omissions = []checkpoint.Omission{{What: "workspace", Why: checkpoint.FromFork}}
	}
	return r
}

// RemoveConversations implements Lease. On a shared machine, the conversations would stay there with
// secrets in clear text. They stay if the end of the run could not be stored.
func (s *checkpoints) RemoveConversations(own []Conversation) (failed []string) {
	c, err := readChain(s.dir)
	if s.writer != nil && s.receipt.IsWhole && s.writer.last.Digest != "" { // on a full disk, the file may be out of date
		c, err = s.writer.chain, nil
	}
	isUnstored := s.isLost || errors.Is(err, fs.ErrNotExist) // and never will be
	if !isUnstored && (err != nil || !s.receipt.IsWhole) {
		return nil
	}
	return clearConversations(s.agents, own, c, isUnstored)
}

// openLeft opens a run that the main phase has left, for the post phase.
func (c *Config) openLeft(id string) (*journal.File, *state.Run, error) {
	return journal.Open(c.StateDir, id, session.Holder())
}

// left returns the checkpoints of a run that the main phase has left.
func (c *Config) left(n Note) checkpoints {
	return checkpoints{c: c, agents: n.Agents, dir: filepath.Join(c.StateDir, n.WorkflowID), isLost: n.IsLost}
}

// reopened is the lease of a main phase in the post phase.
type reopened struct {
	checkpoints
	noClaim
	note    Note
	shelf   func(from chain) shelf
	release func(context.Context) error
}

// Release implements Lease. If the service fails, the claim stays, but it stops no other job because
// its job is over.
func (l *reopened) Release(ctx context.Context) error {
	if l.note.Claim == "" {
		return nil
	}
	err := l.release(ctx)
	if err == nil {
		l.note.Claim = ""
	}
	return err
}

// Restore implements Lease. It opens the run that the main phase has left.
func (l *reopened) Restore(ctx context.Context, _ *Lookup, _ Target) (*journal.File, *state.Run, error) {
	file, run, err := l.c.openLeft(l.note.WorkflowID)
	if err != nil {
		return nil, nil, err
	}
	from, err := readChain(l.dir)
	switch {
	case errors.Is(err, fs.ErrNotExist): // no checkpoint of the run was to be stored
	case err != nil:
		return nil, nil, errors.Join(err, file.Close())
	default:
		l.writer = newWriter(l.c, l.c.origin(l.note.Key, l.note.About, l.note.Untrusted), l.dir, l.c.Worktree.Base(ctx), l.shelf(from), from)
		l.saver, l.start = newSaver(l.writer), from.Start
		l.receipt = Receipt{Place: Elsewhere, Name: from.Name, IsWhole: run.Progress.Seq == from.Seq && run.Progress.Status == from.Status}
	}
	return file, run, nil
}

// restore brings the contents of the run that was found to this machine, and returns the state file
// of the run that the job drives. If it fails, there is no state file, so that no later step
// continues the run.
func (s *checkpoints) restore(ctx context.Context, l *Lookup, to Target) (file *journal.File, run *state.Run, err error) {
	s.agents, s.start = to.Agents, to.Start
	id := to.ID
	if l.Run != nil {
		if id == "" {
			id = l.Run.WorkflowID
		}
		if err := l.Relocate(); err != nil {
			return nil, nil, err
		}
	}
	s.dir = filepath.Join(s.c.StateDir, id)
	// Files of an earlier attempt of this step are out of date.
	if err := errors.Join(os.RemoveAll(s.dir+".json"), os.RemoveAll(s.dir), os.MkdirAll(s.dir, 0o700)); err != nil {
		return nil, nil, err
	}
	if l.Run != nil {
		if run, err = s.restoreContents(ctx, l, to); err != nil {
			return nil, nil, err
		}
	}
	if file, err = journal.Create(s.c.StateDir, id, session.Holder()); err != nil {
		return nil, nil, err
	}
	file.SetIntegrityLog(s.c.Integrity)
	if to.ID == "" {
		err = s.install(ctx, file, l, run)
	}
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	if s.began = time.Now(); to.Start.Supersedes.WorkflowID != "" { // later jobs of the superseded run must see this run
		s.began = time.Time{}
	}
	return file, run, nil
}

// install moves the files of a resumed run to its directory, and writes its state.
func (s *checkpoints) install(ctx context.Context, file *journal.File, l *Lookup, run *state.Run) error {
	// The journal comes with the checkpoint, and the run continues it on this machine.
	err := errors.Join(
		moveIfThere(filepath.Join(l.Dir, "logs"), filepath.Join(s.dir, "logs")),
		s.c.Integrity.Place(l.EventLog(), filepath.Join(s.dir, session.EventsFile)),
		s.c.Integrity.Place(filepath.Join(l.Dir, checkpoint.HistoryName), s.dir+journal.Ext),
	)
	if err == nil {
		err = file.WriteSnapshot(run, nil, nil)
	}
	if err != nil {
		return err
	}
	from := workspace.RestoreRequest{From: l.workDir(), Dir: l.where}
	if err := s.c.Worktree.unpackSnapshots(ctx, s.dir, from, run.Dirs()); err != nil { // workspace snapshots are optional
		s.c.Log.Note("The workspace snapshots were not restored: " + err.Error() + ".")
	}
	return nil
}

// restoreContents restores the work and the conversations of a run, and returns the run with the
// directories of this machine.
func (s *checkpoints) restoreContents(ctx context.Context, l *Lookup, to Target) (*state.Run, error) {
	if to.Contents == Conversations {
		return l.Run, l.placeConversations(s.c.Conversations, to.Agents, nil, true)
	}
	run := l.Run
	err := s.c.Worktree.restore(ctx, s.c.Log, to, l.work, l.where)
	for _, p := range l.joined {
		if err == nil {
			err = p.restoreBranches(ctx, s.c)
		}
	}
	if err != nil {
		return nil, err
	}
	run.Scope, run.Dir = to.Scope, to.Dir
	if err := MakeDirs(run); err != nil || to.Contents == WithoutConversations {
		return run, err
	}
	err = l.placeConversations(s.c.Conversations, to.Agents, nil, false)
	for _, p := range l.joined {
		if err == nil && len(p.stored) > 0 {
			own := map[string]bool{}
			for _, t := range checkpoint.Sessions(p.OwnRun()) {
				own[t.ID] = true
			}
			err = p.stored[0].placeConversations(s.c.Conversations, to.Agents, own, false)
		}
	}
	if err == nil && slices.Contains(l.Manifest.Missing(), "transcripts") {
		run.ForgetConversations(func(string) bool { return true })
	}
	return run, err
}
