package slots

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/raymond-action/raymond-action/artifacts"
	"github.com/raymond-action/raymond-action/internal/forge"
)

// MaxStores is how many checkpoints one job stores at most. GitHub takes 500
// artifacts of a job, and the workflow may have some of its own.
const MaxStores = 400

// ErrFull says that the job has stored as many checkpoints as it may.
var ErrFull = fmt.Errorf("this job has stored %d checkpoints, the most it may", MaxStores)

// ownKeys is what to do about two that store under the same names.
const ownKeys = "give each job and step that runs at the same time a key of its own"

// Slots are the three artifacts of the present workflow run in which the
// checkpoints of a key are stored. Nothing that is in them is adopted at first. One goroutine
// at a time may use them; Stored may be called at any time.
type Slots struct {
	Service Service
	Place   Place
	// Retention is how long the service is to keep a checkpoint; 0 leaves that to
	// the service.
	Retention time.Duration

	stored atomic.Int64
	isOurs bool // so are all names, whatever the service has there
	// own is what this run stored, or adopted, or began to store, the oldest first. Where the
	// service did not confirm that it has arrived, it has no ID. A service may refuse the
	// name of such for a while although it lists nothing there.
	own []artifacts.Artifact
}

// isSame reports whether an artifact is one of ours. A service that is asked to finish a store a
// second time makes two of it; one that tells no digest is believed. What an earlier process was
// storing has no name.
func isSame(own, a artifacts.Artifact) bool {
	hasName := own.Name == "" || own.Name == a.Name
	if own.Digest != "" && a.Digest != "" {
		return hasName && own.Digest == a.Digest
	}
	return own.ID == a.ID || own.ID == 0 && hasName
}

// Adopt makes existing artifacts in the slots this run's own, so that they may be
// replaced: those of the run that is resumed, or that were there when a new one began,
// or that an earlier process of this step has stored, or was about to: of such a one the
// digest is enough. They come oldest first, as Found.Existing has them. The names are this
// run's own from then on, also one that the job before was cut off in storing.
func (s *Slots) Adopt(existing []artifacts.Artifact) {
	s.isOurs = s.isOurs || len(existing) > 0
	s.own = append(s.own, existing...)
}

// Own returns what may be replaced, as Adopt wants it.
func (s *Slots) Own() []artifacts.Artifact { return slices.Clone(s.own) }

// Count counts what an earlier process of this job has stored.
func (s *Slots) Count(stored int) { s.stored.Add(int64(stored)) }

// Stored returns how many artifacts this job has stored, those included whose
// arrival is not sure.
func (s *Slots) Stored() int { return int(s.stored.Load()) }

// Store stores a generation: in the slot generation modulo 3, as long as every
// save before it succeeded. In general it is the first empty slot from there on,
// and else the one with the oldest checkpoint, which alone is deleted, right
// before the store. So once three have been stored, there are two good ones at any
// time.
//
// A service that refuses a name right after its delete is asked again for some
// seconds; then the next slot is used. Only where that is the one with the second
// oldest, the newest is alone for the time of the store; the newest itself is never
// deleted.
//
// Of what is stored, the content, its size and digest are needed. Errors are ErrFull, *Conflict where somebody else uses the slots, and else have
// a *forge.Error inside.
func (s *Slots) Store(ctx context.Context, generation int, content artifacts.NewArtifact) (artifacts.Artifact, error) {
	if s.Stored() >= MaxStores {
		return artifacts.Artifact{}, ErrFull
	}
	slots, err := s.list(ctx)
	if err != nil {
		return artifacts.Artifact{}, err
	}
	var empty, full []slot
	for i := range slots {
		if at := slots[(max(generation, 0)+i)%3]; len(at.entries) > 0 {
			full = append(full, at)
		} else {
			empty = append(empty, at)
		}
	}
	slices.SortStableFunc(full, func(a, b slot) int { return s.age(b) - s.age(a) })
	for _, at := range append(empty, full[:max(0, len(full)-1)]...) {
		var a artifacts.Artifact
		if a, err = s.replace(ctx, at, content); !errors.Is(err, artifacts.ErrExists) {
			return a, err
		}
	}
	return artifacts.Artifact{}, err
}

// slot is one of the names and what is stored there, newest first: a re-run can
// leave several artifacts of one name.
type slot struct {
	name    string
	entries []artifacts.Artifact
}

// list lists the slots, and fails where something is stored that is not ours.
func (s *Slots) list(ctx context.Context) ([3]slot, error) {
	var slots [3]slot
	for i, name := range s.Place.Names() {
		entries, err := s.Service.List(ctx, name)
		if err != nil {
			return slots, fmt.Errorf("list checkpoints: %w", err)
		}
		for _, a := range slices.Backward(entries) {
			at := slices.IndexFunc(s.own, func(own artifacts.Artifact) bool { return isSame(own, a) })
			if at < 0 {
				return slots, &Conflict{a.Name, a.ID, "it was stored by somebody else in this workflow run; " + ownKeys}
			}
			s.own[at].ID, s.own[at].Name = a.ID, a.Name
		}
		slots[i] = slot{name, entries}
	}
	return slots, nil
}

// age is how many artifacts are this run's own since that in a slot.
func (s *Slots) age(at slot) int {
	for i, o := range slices.Backward(s.own) {
		if o.ID == at.entries[0].ID {
			return len(s.own) - i
		}
	}
	return len(s.own)
}

// replace stores under one name, after what is there was deleted. It fails with
// ErrExists where the service still refuses the name.
func (s *Slots) replace(ctx context.Context, at slot, n artifacts.NewArtifact) (artifacts.Artifact, error) {
	for _, a := range at.entries {
		if err := s.Service.Delete(ctx, a); err != nil && !forge.IsMissing(err) {
			return artifacts.Artifact{}, fmt.Errorf("delete the oldest checkpoint: %w", err)
		}
	}
	isOurs := s.isOurs || slices.ContainsFunc(s.own, func(own artifacts.Artifact) bool { return own.Name == at.name })
	n.Name, n.NameFreed = at.name, isOurs
	if s.Retention > 0 {
		n.Expires = time.Now().Add(s.Retention)
	}
	a, err := s.Service.Upload(ctx, n)
	isRefused := errors.Is(err, artifacts.ErrExists)
	told, isTold := errors.AsType[*forge.Error](err)
	wasRetried := isTold && told.Attempts > 1 // the request before, whose answer was lost, may have taken the name
	if isRefused && !isOurs && !wasRetried {
		return a, &Conflict{Name: n.Name, What: "somebody else in this workflow run is storing it; " + ownKeys}
	}
	if !isRefused {
		s.stored.Add(1)
	}
	s.own = append(s.own, artifacts.Artifact{ID: a.ID, Name: n.Name, Digest: n.Digest})
	if err != nil {
		return a, fmt.Errorf("store checkpoint %q: %w", n.Name, err)
	}
	return a, nil
}
