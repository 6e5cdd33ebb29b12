package action

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/checkpoints"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/session"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

// storage stores the checkpoints of a run while it is driven.
type storage struct {
	store *checkpoints.Store
	saver *checkpoints.Saver
	claim *checkpoints.Claim // the claim of the key
}

// openStorage opens the storage for the checkpoints of a run, or returns nil if the run is not
// stored in artifacts. It starts to claim the key in the background, and warns, before any money is
// spent, about everything that will not be possible later.
func openStorage(s *step, b *readyRun) (*storage, error) {
	if s.in.IsLocal() {
		return nil, nil
	}
	var store *checkpoints.Store
	if s.stored.runtime != nil {
		store = newStore(s, checkpoints.Options{
			Base: b.base, Dir: s.dirs.run(b.run.WorkflowID), Chain: checkpoints.Chain{Began: b.began},
		})
	}
	if losses := lossesOf(s, b, store); len(losses) > 0 {
		s.log.warn(strings.Join(losses, ". Besides, "))
	}
	if store == nil {
		return nil, nil
	}
	var err error
	switch {
	case s.part() != nil && b.manifest.Part == nil, // the part begins, and its checkpoints have not been listed yet
		s.in.Resume == job.ResumeNever && !b.isResumed(): // no one has listed the artifacts yet, and the run need not wait for it
		err = store.Ask()
	case b.isResumed():
		err = store.Continue(b.found, b.began)
	default:
		err = store.Begin(b.found.Existing)
	}
	claim := b.claim
	if err == nil && claim == nil { // otherwise it was claimed before the run was restored
		claim, err = startClaim(s)
	}
	if err != nil {
		return nil, err
	}
	store.SetCheck(claim.Check)
	return &storage{store, store.NewSaver(s.env.Interval), claim}, nil
}

// newStore creates the store for a run's checkpoints. o has the options that differ between the
// main and the post phase.
func newStore(s *step, o checkpoints.Options) *checkpoints.Store {
	o.Service, o.Query, o.Keys, o.Mask, o.Origin = s.stored.runtime, s.query(), s.keys, s.log.mask, s.origin()
	o.Seals = s.note.seals
	o.IsOpen, o.Temp, o.Warn = sync.OnceValue(func() bool { return s.keys == nil && isPublic(s.event, s.in, s.api) }), s.dirs.state, s.log.warn
	o.Retention = time.Duration(s.in.RetentionDays) * 24 * time.Hour
	if s.in.Workspace == job.WorkspaceGit {
		o.Git = s.git
		o.Snapshots = o.Git.OpenSnapshots(session.SnapshotsPath(o.Dir))
	}
	return checkpoints.New(o)
}

// isPublic reports whether anyone can read the artifacts of the repository. A repository that is
// not known to be private counts as public.
func isPublic(e job.Event, in job.Settings, api *job.GitHub) bool {
	if e.Repository.Private != nil {
		return !*e.Repository.Private
	}
	if in.GitHubToken == "" {
		return true
	}
	private, err := api.IsPrivate(context.Background())
	return err != nil || !private
}

// Warnings before a run begins.
const (
	losesAll  = "the job has no results service (ACTIONS_RUNTIME_TOKEN is not set): nothing is stored, and no later job can resume this run"
	losesFork = "the event is a fork's: no later job or workflow run can resume this run, and it fails where it would be suspended"
	losesOpen = "anyone can read the artifacts of this repository, which is public or not known to be private, and no state-key is set: " +
		"conversations of agents and their uncommitted work are not stored, no later job can resume a run that has any, and it fails where it would " +
		"be suspended; with a state-key (raymond keygen creates one), everything is stored encrypted"
	losesFiles = "git is not installed: changes of agents to files are not stored, and no later job can resume this run with them; " +
		"install git before the checkout (apt-get install git, apk add git), or set workspace: none if they need not be stored"
)

// lossesOf returns what will not be possible later for a run that is stored in this way.
func lossesOf(s *step, b *readyRun, store *checkpoints.Store) (losses []string) {
	if b.found.Warning != "" {
		losses = append(losses, b.found.Warning)
	}
	prompts := expectsPrompts(b.flow, b.run)
	switch {
	case store == nil:
		return append(losses, losesAll)
	case s.event.IsFromFork():
		return append(losses, losesFork)
	case !s.in.ResumeWithoutTranscript && prompts && store.IsOpen():
		return append(losses, losesOpen)
	case prompts && s.git.Path == noGit && s.in.Workspace == job.WorkspaceGit:
		return append(losses, losesFiles)
	}
	return losses
}

// taker takes a snapshot of a run for a checkpoint.
type taker func(*state.Run) (*checkpoints.Snapshot, error)

// periodic stores the run at intervals while it is driven. It implements runner.Checkpoints.
type periodic struct {
	step  *step
	ctx   context.Context
	to    *storage
	take  taker
	began time.Time
	asks  *asking // its questions must be stored before they are posted; nil for none
	// urgent is a snapshot to store as soon as possible; nil for none.
	urgent *checkpoints.Snapshot
}

// Offer implements runner.Checkpoints. The results of a step are stored at most an interval after
// the last save, however long the next step takes, and a question is stored at once.
func (b *periodic) Offer(run *state.Run, now time.Time) (taken bool) {
	isUrgent := b.asks != nil && b.asks.NeedsCheckpoint()
	if !isUrgent && (now.Sub(b.began) < b.step.env.Interval || !b.to.saver.Due(now)) {
		return false
	}
	shot, err := b.take(run)
	if err != nil {
		return true
	}
	if isUrgent {
		b.urgent = shot
		b.again()
	} else {
		b.to.saver.Start(shot)
	}
	return true
}

// again stores the urgent snapshot, also after a failed save.
func (b *periodic) again() {
	switch {
	case b.urgent == nil:
	case !b.asks.NeedsCheckpoint():
		b.urgent = nil
	case b.to.saver.IsSpent():
		b.asks.ExpectNoCheckpoints()
	default:
		b.to.saver.Start(b.urgent)
	}
}

// Stored implements runner.Checkpoints.
func (b *periodic) Stored() <-chan *state.Checkpoint { return b.to.saver.Events() }

// CheckResumable implements runner.Checkpoints.
func (b *periodic) CheckResumable(left []*state.Agent) error {
	if b.step.event.IsFromFork() {
		return errors.New("its event is a fork's, and such runs are never resumed")
	}
	store := b.to.store
	if !store.IsOpen() {
		return nil
	}
	var lacks []string
	hasSession := func(f state.Frame) bool { return f.Session != nil }
	hasConversation := func(a *state.Agent) bool { return a.Session != nil || slices.ContainsFunc(a.Stack, hasSession) }
	if !b.step.in.ResumeWithoutTranscript && slices.ContainsFunc(left, hasConversation) {
		lacks = append(lacks, "conversations")
	}
	ctx, cancel := context.WithTimeout(b.ctx, orphanSave)
	defer cancel()
	if store.HasWork(ctx, checkpoints.Dirs(&state.Run{Dir: b.step.dirs.work, Agents: left})) {
		lacks = append(lacks, "work in the workspace")
	}
	if len(lacks) == 0 {
		return nil
	}
	return fmt.Errorf("without a state-key its %s can't be stored, because anyone can read the artifacts; set the input state-key (raymond keygen creates one)",
		strings.Join(lacks, " and "))
}

var _ runner.Checkpoints = (*periodic)(nil)
