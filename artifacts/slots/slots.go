package slots

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync/atomic"
	"time"

	"github.com/raymond-action/raymond-action/artifacts"
)

// MaxStores is how many checkpoints one job stores at most. GitHub takes 500
// artifacts of a job, and the workflow may have some of its own.
const MaxStores = 400

// ErrFull says that the job has stored as many checkpoints as it may.
var ErrFull = fmt.Errorf("this job has stored %d checkpoints, the most it may", MaxStores)

// ownKeys is what to do about two that store under the same names.
const ownKeys = "give each job and step that runs at the same time a key of its own"

// SlotsOptions are what Slots need.
type SlotsOptions struct {
	Service Service
	Key     string
	Part    string // of a matrix; "" for the run itself
	// Retention is how long the service is to keep a checkpoint; 0 leaves that to
	// the service.
	Retention time.Duration
	// Stored is how many checkpoints this job has stored already.
	Stored int
	// Ours says that an earlier process of this job may have begun to store under
	// the names: a name that the service refuses is then not a sign of somebody else.
	Ours bool
}

// Slots are the three artifacts of the present workflow run in which the
// checkpoints of a key are stored. One goroutine at a time may use them; Stored may
// be called at any time.
type Slots struct {
	o      SlotsOptions
	names  [3]string
	stored atomic.Int64

	own  map[int64]ownArtifact // by id
	next int                   // the order of the next own artifact
	// touched are names at which this run deleted or began to store something: the
	// service may refuse them for a while although it lists nothing there.
	touched map[string]bool
	// unconfirmed has, by name, the digest of a content whose arrival the service did
	// not confirm.
	unconfirmed map[string]string
}

// ownArtifact is an artifact that this run stored or adopted.
type ownArtifact struct {
	order  int // by age, the oldest first
	name   string
	digest string
}

// NewSlots returns the slots of a key. Nothing that is in them is adopted.
func NewSlots(o SlotsOptions) *Slots {
	s := &Slots{o: o, names: Place{o.Key, o.Part}.Names(), own: map[int64]ownArtifact{}, touched: map[string]bool{}, unconfirmed: map[string]string{}}
	s.stored.Store(int64(o.Stored))
	if o.Ours {
		s.touchAll()
	}
	return s
}

// Adopt makes existing artifacts in the slots this run's own, so that they may be
// replaced: those of the run that is resumed, or that were there when a new one began.
// They come oldest first, as Found.Existing has them. The names are this run's own
// from then on, also one that the job before was cut off in storing.
func (s *Slots) Adopt(existing []artifacts.Artifact) {
	for _, a := range existing {
		s.add(a)
		s.touchAll()
	}
}

func (s *Slots) touchAll() {
	for _, name := range s.names {
		s.touched[name] = true
	}
}

// Stored returns how many artifacts this job has stored, those included whose
// arrival is not sure.
func (s *Slots) Stored() int { return int(s.stored.Load()) }

// add notes an artifact as this run's own, the newest of them.
func (s *Slots) add(a artifacts.Artifact) {
	s.own[a.ID] = ownArtifact{order: s.next, name: a.Name, digest: a.Digest}
	s.next++
}

// Content is what is stored.
type Content struct {
	Data   io.ReaderAt
	Size   int64
	Digest string // "sha256:…" of Data
}

// Store stores a generation: in the slot generation modulo 3, as long as every
// save before it succeeded. In general it is the first empty slot from there on,
// and else the one with the oldest checkpoint, which alone is deleted, right
// before the store. So once three have been stored, there are two good ones at any
// time.
//
// Where no slot is empty, a service that refuses a name right after its delete is
// asked again for some seconds; then the next slot is used, the one with the second
// oldest. Only in that case the newest is alone for the time of the store, and the
// newest itself is never deleted.
//
// Errors are ErrFull, *Conflict where somebody else uses the slots, and else have
// a *forge.Error inside.
func (s *Slots) Store(ctx context.Context, generation int, content Content) (artifacts.Artifact, error) {
	if s.Stored() >= MaxStores {
		return artifacts.Artifact{}, ErrFull
	}
	var refusal error
	for refused := map[string]bool{}; ; {
		slots, err := s.list(ctx)
		if err != nil {
			return artifacts.Artifact{}, err
		}
		order := s.inOrder(slots, generation, refused)
		if len(order) == 0 {
			return artifacts.Artifact{}, refusal
		}
		at := order[0]
		isLastEmpty := len(order) == 1 || len(order[1].entries) > 0
		n := artifacts.New{Name: at.name, Content: content.Data, Size: content.Size, Digest: content.Digest, Freed: isLastEmpty}
		a, err := s.replace(ctx, at, n)
		if !errors.Is(err, artifacts.ErrExists) {
			return a, err
		}
		refusal = err
		refused[at.name] = true
	}
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
	for i, name := range s.names {
		entries, err := s.o.Service.List(ctx, name)
		if err != nil {
			return slots, fmt.Errorf("list checkpoints: %w", err)
		}
		for _, a := range slices.Backward(entries) {
			if err := s.checkOwn(a); err != nil {
				return slots, err
			}
		}
		slots[i] = slot{name, entries}
	}
	return slots, nil
}

// checkOwn fails for an artifact that is not ours.
func (s *Slots) checkOwn(a artifacts.Artifact) error {
	ours, known := s.own[a.ID]
	digest, unconfirmed := s.unconfirmed[a.Name]
	switch {
	case known && (a.Digest == "" || ours.digest == "" || a.Digest == ours.digest):
	case a.Digest != "" && s.hasStored(a):
		s.add(a)
	case unconfirmed && (a.Digest == "" || a.Digest == digest):
		s.add(a)
		delete(s.unconfirmed, a.Name)
	case known:
		return &Conflict{a.Name, a.ID, "it was replaced by somebody else since this run stored it"}
	default:
		return &Conflict{a.Name, a.ID, "it was stored by somebody else in this workflow run; " + ownKeys}
	}
	return nil
}

// hasStored reports whether this run has stored the content of an artifact under its
// name: a service that is asked to finish a store a second time makes two of it.
func (s *Slots) hasStored(a artifacts.Artifact) bool {
	for _, o := range s.own {
		if o.name == a.Name && o.digest == a.Digest {
			return true
		}
	}
	return false
}

// inOrder returns the slots that may be written to, the best first: empty ones, from
// that of the generation on; then those with the oldest checkpoints, never that with
// the newest. Names that were refused in this save are left out.
func (s *Slots) inOrder(slots [3]slot, generation int, refused map[string]bool) []slot {
	var empty, full []slot
	for i := range slots {
		at := slots[(max(generation, 0)+i)%3]
		switch {
		case len(at.entries) > 0:
			full = append(full, at)
		case !refused[at.name]:
			empty = append(empty, at)
		}
	}
	slices.SortStableFunc(full, func(a, b slot) int { return s.order(a) - s.order(b) })
	for _, at := range full[:max(0, len(full)-1)] {
		if !refused[at.name] {
			empty = append(empty, at)
		}
	}
	return empty
}

// order says how old the checkpoint in a slot is: a newer one has a higher number.
func (s *Slots) order(at slot) int { return s.own[at.entries[0].ID].order }
