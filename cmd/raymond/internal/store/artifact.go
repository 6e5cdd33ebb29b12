package store

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/google/uuid"

	"github.com/raymond-action/raymond-action/artifacts/slots"
	"github.com/raymond-action/raymond-action/internal/forge"
	"github.com/raymond-action/raymond-action/state"
	"github.com/raymond-action/raymond-action/state/journal"
)

// artifactStore keeps runs as artifacts of workflow runs.
type artifactStore struct{ Config }

// Look implements Store.
func (s *artifactStore) Look(ctx context.Context, q Query) (*Lookup, error) {
	l := &Lookup{here: s.Machine}
	if s.Services.Err != nil || q.Mode == slots.Never {
		return l, s.Services.Err
	}
	found, err := s.Services.Find(ctx, s.query(Key{Name: q.Key}, q.Mode))
	if err != nil {
		return l, err
	}
	if l.Found, l.isListed = *found, true; l.Manifest != nil {
		l.Run, err = readState(found)
	}
	return l, err
}

// Parts implements Store.
func (s *artifactStore) Parts(ctx context.Context, l *Lookup, parts []state.Part) (all []*Part, err error) {
	list, err := s.Services.ListParts(ctx, slots.PartsQuery{
		Query: s.query(Key{Name: l.Manifest.Key}, l.Manifest.WorkflowID), Base: &l.Found, Deadline: s.Deadline, Now: time.Now(),
	})
	if err != nil {
		return nil, err
	}
	for _, p := range parts {
		all = append(all, &Part{
			PartRun: state.PartRun{Part: p}, IsStored: list.Has(p), here: l,
			read: func(ctx context.Context) (slots.PartFound, error) { return list.Read(ctx, p) },
		})
	}
	return all, nil
}

// Limitations before a run begins.
const (
	losesAll  = "the job has no results service (ACTIONS_RUNTIME_TOKEN is not set): nothing is stored, and no later job can resume this run"
	losesFork = "the event is a fork's: no later job or workflow run can resume this run, and it fails where it would be suspended"
	losesOpen = "anyone can read the artifacts of this repository, which is public or not known to be private, and no state-key is set: " +
		"conversations of agents and their uncommitted work are not stored, no later job can resume a run that has any, and it fails where it would " +
		"be suspended; with a state-key (raymond keygen creates one), everything is stored encrypted"
	losesFiles = "git is not installed: changes of agents to files are not stored, and no later job can resume this run with them; " +
		"install git before the checkout (apt-get install git, apk add git), or set workspace: none if they need not be stored"
)

// Limitations implements Store.
func (s *artifactStore) Limitations(hasPrompts bool) []string { return s.limitations(hasPrompts) }

// limitations returns the limitations of checkpoints.
func (c *Config) limitations(hasPrompts bool) []string {
	switch {
	case c.Event.IsFromFork():
		return []string{losesFork}
	case !c.Inputs.ResumeWithoutTranscript && hasPrompts && c.isOpen():
		return []string{losesOpen}
	case hasPrompts && c.Worktree.Lacks():
		return []string{losesFiles}
	}
	return nil
}

// View implements Store.
func (s *artifactStore) View() Lease { return &unstored{checkpoints: checkpoints{c: &s.Config}} }

// Claim implements Store.
func (s *artifactStore) Claim(k Key) (Lease, error) {
	id := uuid.NewString()
	if err := s.Claimed(id); err != nil {
		return nil, err
	}
	l := &artifactLease{checkpoints: checkpoints{c: &s.Config, receipt: Receipt{Place: Elsewhere}}, key: k}
	l.claim = startClaim(s.claimer(k, id), s.Log.Warn, s.Lost)
	return l, nil
}

// claimer returns a claimer of a key.
func (s *artifactStore) claimer(k Key, id string) *slots.Claimer {
	q, e := s.query(k, ""), s.Event
	holder := s.Services.Holder
	if e.IsUnderAct() { // its token names the workflow run in place of the job
		holder = "act " + e.Job + " " + s.Inputs.Matrix
	}
	mine := slots.Claim{
		ID: id, Key: k.Name, Part: q.Part.Name, Holder: holder, RunID: e.RunID, Attempt: e.Attempt, Job: e.Job, Step: filepath.Base(s.Dir),
		Runner: e.Runner, RunURL: e.RunURL(e.RunID), Created: time.Now().UTC(), Process: s.Process.Self(),
	}
	if s.Deadline > 0 {
		mine.Deadline = mine.Created.Add(s.Deadline)
	}
	return &slots.Claimer{Finder: &s.Services.Finder, Query: q, Mine: mine, Retention: s.retention(), Alive: s.Process.Alive, Sleep: forge.Sleep}
}

// artifactLease is a key that is claimed with an artifact.
type artifactLease struct {
	checkpoints
	key   Key
	claim *claim
}

// Wait implements Lease.
func (l *artifactLease) Wait(ctx context.Context, d time.Duration) error { return l.claim.wait(ctx, d) }

// Lost implements Lease.
func (l *artifactLease) Lost() <-chan string { return l.claim.lostKey }

// Release implements Lease.
func (l *artifactLease) Release(ctx context.Context) error { return l.claim.release(ctx) }

// Restore implements Lease.
func (l *artifactLease) Restore(ctx context.Context, found *Lookup, to Target) (*journal.File, *state.Run, error) {
	file, run, err := l.restore(ctx, found, to)
	if err != nil {
		return nil, nil, err
	}
	slot := l.c.slots(l.key)
	w := newWriter(l.c, l.c.origin(l.key, to.About, to.Untrusted), l.dir, l.c.Worktree.Base(ctx), slot, found.chain(to))
	isListed := found.isListed && (l.key.Part == nil || found.Manifest.Part != nil) // otherwise the part begins
	if isListed {
		slot.Adopt(found.Existing)
	}
	w.prepare = func(ctx context.Context) error {
		if err := l.claim.check(ctx); err != nil || isListed {
			return err
		}
		list, err := l.c.Services.Existing(ctx, l.c.query(l.key, slots.Auto))
		if err == nil {
			slot.Adopt(list)
			isListed = true
		}
		return err
	}
	if err := l.begin(w, to); err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	return file, run, nil
}

// slots returns the artifacts that store the checkpoints of a key.
func (c *Config) slots(k Key) *slots.Slots {
	return &slots.Slots{Service: c.Services.Service, Place: slots.Place{Key: k.Name, Part: c.query(k, "").Part.Name}, Retention: c.retention()}
}

// Reopen implements Store.
func (s *artifactStore) Reopen(n Note) (Lease, error) {
	l := &reopened{checkpoints: s.left(n), note: n}
	l.shelf = func(from chain) shelf {
		slot := s.slots(n.Key)
		slot.Count(from.Stored)
		slot.Adopt(from.Existing)
		return slot
	}
	l.release = func(ctx context.Context) error { return s.claimer(n.Key, n.Claim).Release(ctx) }
	return l, nil
}
