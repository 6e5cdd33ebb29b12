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
	"github.com/raymond-action/raymond-action/internal/forge"
)

// MaxStores is how many checkpoints one job stores at most. GitHub takes 500
// artifacts of a job, and the workflow may have some of its own.
const MaxStores = 400

// ErrFull says that the job has stored as many checkpoints as it may.
var ErrFull = fmt.Errorf("this job has stored %d checkpoints, the most it may", MaxStores)

// Conflict says that somebody else stores under the names of this run, or that
// two workflow runs went on with the same checkpoint.
type Conflict struct {
	Name string // of the artifact
	ID   int64  // of the artifact; 0 where it is not known
	What string // what is wrong, names the workflow runs that have to do with it
}

// Error implements error.
func (e *Conflict) Error() string {
	if e.ID == 0 {
		return fmt.Sprintf("artifact %q: %s", e.Name, e.What)
	}
	return fmt.Sprintf("artifact %q (id %d): %s", e.Name, e.ID, e.What)
}

// ownKeys is what to do about two that store under the same names.
const ownKeys = "give each job and step that runs at the same time a key of its own"

// SlotsOptions are what Slots need.
type SlotsOptions struct {
	Service Service
	Key     string
	// Retention is how long the service is to keep a checkpoint; 0 leaves that to
	// the service.
	Retention time.Duration
	// Stored is how many checkpoints this job has stored already.
	Stored int
	// Ours says that an earlier process of this job may have begun to store under
	// the names: where the service refuses one, nobody else need have to do with it.
	Ours  bool
	Now   func() time.Time                           // nil for time.Now
	Sleep func(context.Context, time.Duration) error // nil for forge.Sleep
}

// Slots are the three artifacts of the present workflow run in which the
// checkpoints of a key are kept. One goroutine at a time may use them; Stored may
// be called at any time.
type Slots struct {
	o      SlotsOptions
	names  [3]string
	stored atomic.Int64

	known map[int64]mine
	turn  int // of the next that becomes known
	// touched are names at which this run deleted or began to store something: the
	// service may refuse them for a while although it lists nothing there.
	touched map[string]bool
	// doubtful has, by name, the digest of a content that was sent whole, but whose
	// arrival the service did not confirm.
	doubtful map[string]string
}

// mine is an artifact that we stored or adopted.
type mine struct {
	turn   int // order of age
	name   string
	digest string
}

// NewSlots returns the slots of a key. Nothing that stands in them is adopted.
func NewSlots(o SlotsOptions) *Slots {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Sleep == nil {
		o.Sleep = forge.Sleep
	}
	s := &Slots{o: o, names: Names(o.Key), known: map[int64]mine{}, touched: map[string]bool{}, doubtful: map[string]string{}}
	s.stored.Store(int64(o.Stored))
	if o.Ours {
		s.touchAll()
	}
	return s
}

// Adopt makes artifacts that stand in the slots this run's own, so that they may
// be replaced: those of the run that was taken up, or that stood when a new one
// began. They come oldest first, as Found.Existing has them. The names are this
// run's own from then on, also one that the job before was cut off in storing.
func (s *Slots) Adopt(standing []artifacts.Artifact) {
	for _, a := range standing {
		s.learn(a)
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

func (s *Slots) learn(a artifacts.Artifact) {
	s.known[a.ID] = mine{turn: s.turn, name: a.Name, digest: a.Digest}
	s.turn++
}

// Store keeps a generation: in the slot generation modulo 3, as long as every
// save before it succeeded. In general it is the first empty slot from there on,
// and else the one with the oldest checkpoint, which alone is deleted, right
// before the store. So once three have been stored, two good ones stand at any
// time.
//
// A service that refuses a name right after its delete is given some seconds;
// then the next slot is used, the one with the second oldest. Only in that case
// the newest stands alone for the time of the store, and the newest itself is
// never deleted.
//
// Errors are ErrFull, *Conflict where somebody else uses the slots, and else have
// an *forge.Error inside.
func (s *Slots) Store(ctx context.Context, generation int, content io.ReaderAt, size int64) (artifacts.Artifact, error) {
	if s.Stored() >= MaxStores {
		return artifacts.Artifact{}, ErrFull
	}
	var refusal error
	for refused := map[string]int{}; ; {
		slots, err := s.look(ctx)
		if err != nil {
			return artifacts.Artifact{}, err
		}
		at, ok := s.choose(slots, generation, refused)
		if !ok {
			return artifacts.Artifact{}, refusal
		}
		a, err := s.fill(ctx, at, content, size)
		if !errors.Is(err, artifacts.ErrExists) {
			return a, err
		}
		refusal = err
		refused[at.name]++
		if err := s.outwait(ctx, slots, refused); err != nil {
			return artifacts.Artifact{}, refusal
		}
	}
}

// slot is one of the names and what stands there, newest first: a re-run can
// leave several artifacts of one name.
type slot struct {
	name    string
	entries []artifacts.Artifact
}

// look lists the slots, and fails where something stands that is not ours.
func (s *Slots) look(ctx context.Context) ([3]slot, error) {
	var slots [3]slot
	for i, name := range s.names {
		entries, err := s.list(ctx, name)
		if err != nil {
			return slots, err
		}
		slots[i] = slot{name, entries}
	}
	return slots, nil
}

func (s *Slots) list(ctx context.Context, name string) ([]artifacts.Artifact, error) {
	entries, err := s.o.Service.List(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("list checkpoints: %w", err)
	}
	for _, a := range slices.Backward(entries) {
		if err := s.recognise(a); err != nil {
			return nil, err
		}
	}
	return entries, nil
}

// recognise fails for an artifact that is not ours.
func (s *Slots) recognise(a artifacts.Artifact) error {
	ours, known := s.known[a.ID]
	digest, doubtful := s.doubtful[a.Name]
	switch {
	case known && (a.Digest == "" || ours.digest == "" || a.Digest == ours.digest):
	case a.Digest != "" && s.isOurs(a):
		s.learn(a)
	case doubtful && (a.Digest == "" || a.Digest == digest):
		s.learn(a)
		delete(s.doubtful, a.Name)
	case known:
		return &Conflict{a.Name, a.ID, "it was replaced by somebody else since this run stored it"}
	default:
		return &Conflict{a.Name, a.ID, "it was stored by somebody else in this workflow run; " + ownKeys}
	}
	return nil
}

// isOurs reports whether this run has stored the content of an artifact under its
// name: a service that is asked to finish a store a second time makes two of it.
func (s *Slots) isOurs(a artifacts.Artifact) bool {
	for _, m := range s.known {
		if m.name == a.Name && m.digest == a.Digest {
			return true
		}
	}
	return false
}

// refusedWaits are the pauses after which a name that was refused right after its
// delete is tried again.
var refusedWaits = []time.Duration{2 * time.Second, 4 * time.Second}

// choose returns the slot to write to: an empty one, from that of the generation
// on; then one that was refused and may be free by now; then the one with the
// oldest checkpoint, never that with the newest. refused counts the refusals of
// this save by name.
func (s *Slots) choose(slots [3]slot, generation int, refused map[string]int) (slot, bool) {
	var again, full []slot
	for i := range slots {
		at := slots[(max(generation, 0)+i)%3]
		switch n := refused[at.name]; {
		case len(at.entries) > 0:
			full = append(full, at)
		case n == 0:
			return at, true
		case n <= len(refusedWaits):
			again = append(again, at)
		}
	}
	if len(again) > 0 {
		return again[0], true
	}
	slices.SortStableFunc(full, func(a, b slot) int { return s.age(a) - s.age(b) })
	for _, at := range full[:max(0, len(full)-1)] {
		if refused[at.name] <= len(refusedWaits) {
			return at, true
		}
	}
	return slot{}, false
}

func (s *Slots) age(at slot) int { return s.known[at.entries[0].ID].turn }

// outwait pauses after a refusal, unless another slot is empty.
func (s *Slots) outwait(ctx context.Context, slots [3]slot, refused map[string]int) error {
	most := 0
	for _, at := range slots {
		n := refused[at.name]
		if n == 0 && len(at.entries) == 0 {
			return nil
		}
		most = max(most, n)
	}
	if most > len(refusedWaits) {
		return nil
	}
	return s.o.Sleep(ctx, refusedWaits[most-1])
}
