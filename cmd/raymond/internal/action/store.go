package action

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/raymond-action/raymond-action/artifacts/slots"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/checkpoints"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/claims"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/session"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/snapshots"
	"github.com/raymond-action/raymond-action/state"
)

// storage is where the checkpoints of a run go while it is driven.
type storage struct {
	store *checkpoints.Store
	saver *slots.Saver[*checkpoints.Snapshot]
	claim *claims.Claim // this step's hold on the key
}

// openStorage decides what is stored of a run, and where; nil for nothing. It
// claims the key beside the run, and says in one warning, before anything is spent,
// what can't be done later.
func openStorage(s *step, losses []string, b placed) (*storage, error) {
	if s.isLocal() {
		return nil, nil
	}
	var store *checkpoints.Store
	if b.services.runtime != nil {
		store = newStore(s, b.services, checkpoints.Options{
			Base: b.base, Dir: s.runDir(b.readyRun.run.WorkflowID), Chain: checkpoints.Chain{Began: b.began},
		})
	}
	if losses = append(losses, lossesOf(s, b.readyRun, store)...); len(losses) > 0 {
		s.voice.warn(strings.Join(losses, ". Besides, "))
	}
	if store == nil {
		return nil, nil
	}
	var err error
	switch {
	case s.part() != nil && b.lookup.found.Manifest.Part == nil: // it begins, beside the run itself
		err = store.Ask()
	case b.existing != nil:
		err = store.Continue(b.found, b.began)
	case s.in.Resume == job.ResumeNever: // nobody has looked yet, and nobody waits for it
		err = store.Ask()
	default:
		err = store.Begin(b.found.Existing)
	}
	claim := b.claim
	if err == nil && claim == nil { // else it was claimed before the run was put back
		claim, err = startClaim(s, b.services)
	}
	if err != nil {
		return nil, err
	}
	claim.SetLost(func() { loseKey(s) })
	store.SetCheck(claim.Check)
	return &storage{store, store.NewSaver(s.in.CheckpointInterval), claim}, nil
}

// newStore makes the store of a run's checkpoints. o has what differs between the
// parts of a step.
func newStore(s *step, v services, o checkpoints.Options) *checkpoints.Store {
	o.Service, o.Query, o.Keys, o.Mask, o.Origin = v.runtime, s.query(), s.keys, s.voice.mask, s.origin()
	o.Seals = s.note.seals
	o.IsOpen, o.Temp, o.Warn, o.Ours = sync.OnceValue(func() bool { return isOpen(s) }), s.dirs.state, s.voice.warn, s.isPost
	o.Retention = time.Duration(s.in.RetentionDays) * 24 * time.Hour
	if s.in.Workspace == job.WorkspaceGit {
		o.Git = s.git()
		o.Snapshots = o.Git.OpenSnapshots(snapshots.Path(o.Dir))
	}
	return checkpoints.New(o)
}

// isOpen reports whether checkpoints can be read by strangers.
func isOpen(s *step) bool {
	return s.keys == nil && isPublic(s)
}

// isPublic reports whether strangers can read the artifacts of the repository. One that is not
// known to be private counts as a public one.
func isPublic(s *step) bool {
	if s.event.Repository.Private != nil {
		return !*s.event.Repository.Private
	}
	if s.in.GitHubToken == "" {
		return true
	}
	api, err := s.api()
	if err != nil {
		return true
	}
	private, err := api.Private(context.Background())
	return err != nil || !private
}

// What can be said of a run before it begins.
const (
	losesAll  = "the job has no results service (ACTIONS_RUNTIME_TOKEN is not set): nothing is stored, and no later job can resume this run"
	losesFork = "the event is a fork's: no later job or workflow run can resume this run, and where it would be suspended it fails"
	losesOpen = "anybody may read the artifacts of this repository, which is public or not known to be private, and no state-key is set: " +
		"conversations of agents and their uncommitted work are not stored, no later job can resume a run that has any, and where it would be suspended " +
		"it fails; a state-key (raymond keygen makes one) has all of it stored, encrypted"
)

// lossesOf says what a run that is stored this way can't do later.
func lossesOf(s *step, b *readyRun, store *checkpoints.Store) []string {
	switch {
	case store == nil:
		return []string{losesAll}
	case s.isForks():
		return []string{losesFork}
	case !s.in.ResumeWithoutTranscript && expectsPrompts(b.flow, b.run) && store.IsOpen():
		return []string{losesOpen}
	}
	return nil
}

// periodic stores the run every now and then while it is driven. It implements
// runner.Checkpoints.
type periodic struct {
	step  *step
	ctx   context.Context
	to    *storage
	take  func(*state.Run) (*checkpoints.Snapshot, error)
	began time.Time
	asks  *asking // whose questions have to be stored before they are asked; nil for none
	// urgent is a snapshot that is stored as soon as it can be; nil for none.
	urgent *checkpoints.Snapshot
}

// Offer implements runner.Checkpoints: what a step has brought is stored an
// interval after the last time at the latest, however long the next step takes, and a
// question at once.
func (b *periodic) Offer(run *state.Run, now time.Time) (taken bool) {
	isUrgent := b.asks != nil && b.asks.NeedsCheckpoint()
	if !isUrgent && (now.Sub(b.began) < b.step.in.CheckpointInterval || !b.to.saver.Due(now)) {
		return false
	}
	shot, err := b.take(run)
	if err != nil {
		return true
	}
	if isUrgent {
		b.urgent = shot
		b.again(now)
	} else {
		b.to.saver.Start(shot)
	}
	return true
}

// again stores what is urgent, also after a save that failed.
func (b *periodic) again(now time.Time) {
	switch {
	case b.urgent == nil:
	case !b.asks.NeedsCheckpoint():
		b.urgent = nil
	case b.to.saver.IsSpent():
		b.asks.GiveUpStoring()
	case b.to.saver.IsFree(now):
		b.to.saver.Start(b.urgent)
	}
}

// Stored implements runner.Checkpoints.
func (b *periodic) Stored() <-chan *state.Checkpoint { return b.to.saver.Events() }

// CheckResumable implements runner.Checkpoints.
func (b *periodic) CheckResumable(left []*state.Agent) error {
	if b.step.isForks() {
		return errors.New("its event is a fork's, and runs of forks are never resumed")
	}
	store := b.to.store
	if !store.IsOpen() {
		return nil
	}
	var lacks []string
	if !b.step.in.ResumeWithoutTranscript && slices.ContainsFunc(left, hasConversation) {
		lacks = append(lacks, "conversations")
	}
	if store.HasWork(b.ctx, checkpoints.Dirs(&state.Run{Dir: b.step.dirs.work, Agents: left})) {
		lacks = append(lacks, "work in the workspace")
	}
	if len(lacks) == 0 {
		return nil
	}
	return fmt.Errorf("without a state-key its %s can't be stored where anybody may read artifacts; set the input state-key (raymond keygen makes one)",
		strings.Join(lacks, " and "))
}

func hasConversation(a *state.Agent) bool {
	return a.Session != nil || slices.ContainsFunc(a.Stack, func(f state.Frame) bool { return f.Session != nil })
}

// lastSave is how long the last checkpoint may take.
const lastSave = 5 * time.Minute

// orphanSave is how long it may take when the runner is gone.
const orphanSave = 30 * time.Second

// On cancel the runner kills the step ten seconds after its first signal. What
// can't be stored by then, the post part of the step stores.
const (
	cancelBegin = 4 * time.Second
	cancelEnd   = 5 * time.Second // the step has to leave within 7 s, on a busy machine too
)

// anothers is why nothing is stored of a run whose key is another's.
const anothers = "another job drives a run with this key, so nothing of this one is stored"

// storeEnd stores a run that has stopped, and what it has spent, and then gives its key up: who
// is next with the key finds both.
func storeEnd(ctx context.Context, s *step, r *result, e ending) error {
	if taken := e.to.claim.Conflict(); taken != nil {
		e.to.saver.Stop()
		r.kept = kept{lost: anothers}
		bookEnd(ctx, s, r)
		return errors.Join(taken, giveUpKey(ctx, s, r, e.to.claim))
	}
	err := saveEnd(ctx, r, e)
	r.kept.named = lastOf(e.to.store.Chain(), e.run)
	if taken := e.to.claim.Conflict(); taken != nil { // learned at the save
		r.kept, err = kept{lost: anothers}, taken
	}
	bookEnd(ctx, s, r)
	return errors.Join(err, giveUpKey(ctx, s, r, e.to.claim))
}

// lastOf names the last checkpoint of a run.
func lastOf(c checkpoints.Chain, run *state.Run) slots.Named {
	if c.Generation == 0 || c.Digest == "" {
		return slots.Named{}
	}
	return slots.Named{WorkflowID: run.WorkflowID, Generation: c.Generation, Digest: c.Digest}
}

// ending is a run that has stopped, and where it is stored and told.
type ending struct {
	to   *storage
	run  *state.Run
	take func(*state.Run) (*checkpoints.Snapshot, error)
	told *session.Session // that tells its events
}

// giveUpKey removes the claim, if there is time; the post part does it otherwise.
func giveUpKey(ctx context.Context, s *step, r *result, c *claims.Claim) error {
	limit := orphanSave
	if since := r.stops.Since(); since >= 0 && !r.stops.IsOrphaned() && c.Conflict() == nil {
		limit = cancelEnd - since
		if since > cancelBegin {
			return nil
		}
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if err := c.Release(ctx); err != nil && r.stops.Since() < 0 {
		s.voice.warn(err.Error() + "; the post part of the step tries it again")
	}
	return nil
}

// saveEnd stores the end of a run.
func saveEnd(ctx context.Context, r *result, e ending) error {
	limit := lastSave
	if r.stops.IsOrphaned() {
		limit = orphanSave
	} else if since := r.stops.Since(); since >= 0 {
		limit = cancelEnd - since
		if since > cancelBegin {
			e.to.saver.Stop()
			return nil
		}
	}
	shot, err := e.take(e.run)
	if err != nil {
		return err
	}
	shot.Last = r.stops.Since() < 0 || r.stops.IsOrphaned() // else the post part stores what there was no time for
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	event, err := e.to.saver.Final(ctx, shot)
	if err == nil || r.stops.Since() < 0 { // or else the post part stores it
		e.told.Report(e.run.UnsavedEvent(time.Now(), nil, event))
	}
	r.kept = kept{artifact: e.to.store.Chain().Name, isWhole: err == nil}
	r.remarks.notes = append(r.remarks.notes, e.to.store.Notes()...)
	if err != nil && r.stops.Since() >= 0 {
		return nil
	}
	return storeProblem(err)
}

// storeProblem says that the last checkpoint was not stored.
func storeProblem(err error) error {
	var conflict *slots.Conflict
	switch {
	case err == nil:
		return nil
	case errors.As(err, &conflict):
		return err
	}
	return &problem.Problem{Class: problem.ClassStore, Where: "last checkpoint", What: err.Error(), Hint: "the state is kept on this machine as long as it lives"}
}
