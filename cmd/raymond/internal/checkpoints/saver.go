package checkpoints

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/raymond-action/raymond-action/artifacts/slots"
	"github.com/raymond-action/raymond-action/internal/forge"
	"github.com/raymond-action/raymond-action/state"
)

// maxBeside is how many checkpoints are stored beside the run; the rest of
// slots.MaxStores is for its end.
const maxBeside = slots.MaxStores - 10

// afterFailure is the pause after a save that failed. Requests are repeated below, in package
// forge, whose comment says why these are the only two layers.
const afterFailure = 30 * time.Second

// finalGrace is for a save that is under way at the end.
const finalGrace = 10 * time.Second

// Saver stores snapshots of a run beside it, one at a time. Due, Start and Final are
// for the goroutine that owns the run; none but Final waits for anything.
type Saver struct {
	save     func(context.Context, *Snapshot) (state.Checkpoint, error) // returns soon after its context is done
	stored   func() int                                                 // returns how many artifacts the job has stored
	interval time.Duration                                              // between the beginnings of two saves; 0 for every step
	events   chan *state.Checkpoint

	mu       sync.Mutex // guards what follows
	begun    time.Time  // of the last save; zero after one that failed
	notUntil time.Time  // after a failure
	err      error      // the *slots.Conflict or the slots.ErrFull that ends all saving
	ended    bool
	current  *save // nil: no save is under way
}

// save is a save that is under way.
type save struct {
	cancel context.CancelFunc
	done   chan struct{}
}

// NewSaver returns a saver of the store that has nothing under way.
func (s *Store) NewSaver(interval time.Duration) *Saver {
	return &Saver{save: s.Save, stored: s.slots.Stored, interval: interval, events: make(chan *state.Checkpoint, slots.MaxStores)}
}

// Events brings what became of each save that Start began, for the owner to
// report. An owner that leaves hundreds of them unread loses the newest. The
// channel is never closed; after Final nothing is added.
func (s *Saver) Events() <-chan *state.Checkpoint { return s.events }

// Due reports whether a save is to begin at the given time: none is under way,
// the last one began an interval ago, or failed and its pause is over, and the job may
// store more.
func (s *Saver) Due(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.isFree(now) && (s.begun.IsZero() || now.Sub(s.begun) >= s.interval)
}

// isFree reports whether a save may begin, however soon that is after the last one.
func (s *Saver) isFree(now time.Time) bool {
	return s.current == nil && !s.isSpent() && !now.Before(s.notUntil)
}

// IsSpent reports whether nothing more is saved beside the run.
func (s *Saver) IsSpent() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.isSpent()
}

func (s *Saver) isSpent() bool { return s.ended || s.err != nil || s.stored() >= maxBeside }

// Start begins to save a snapshot and returns at once. Where a save is under way, or has
// failed just before, or the saving has ended, it does nothing.
func (s *Saver) Start(shot *Snapshot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.isFree(time.Now()) {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	u := &save{cancel: cancel, done: make(chan struct{})}
	s.current, s.begun = u, time.Now()
	go func() {
		defer close(u.done)
		defer cancel()
		event, _ := s.try(ctx, shot) // which has the error
		select {
		case s.events <- event:
		default:
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.current = nil
	}()
}

// try makes one save, and notes what became of it.
func (s *Saver) try(ctx context.Context, shot *Snapshot) (*state.Checkpoint, error) {
	began := time.Now()
	event, err := s.save(ctx, shot)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		event = state.Checkpoint{Error: err.Error()}
		s.begun, s.notUntil = time.Time{}, time.Now().Add(afterFailure)
	}
	var conflict *slots.Conflict
	if errors.As(err, &conflict) || errors.Is(err, slots.ErrFull) {
		s.err = err
	}
	event.DurationMS = max(0, time.Since(began).Milliseconds())
	return &event, err
}

// Final stores the last snapshot and returns the event of it. It waits for a save that is
// under way, for ten seconds, and then ends it. A service that fails for a time is asked
// again (forge.Patiently) until ctx ends. After Final nothing more is saved beside the run.
// There is an event also with an error.
func (s *Saver) Final(ctx context.Context, shot *Snapshot) (*state.Checkpoint, error) {
	s.end(ctx)
	if s.err != nil && !errors.Is(s.err, slots.ErrFull) {
		return &state.Checkpoint{Error: s.err.Error()}, s.err
	}
	return s.try(forge.WithPatience(ctx), shot)
}

// Stop ends a save that is under way and waits for its end. After it no save begins.
func (s *Saver) Stop() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	s.end(ctx)
}

// end waits for the save that is under way.
func (s *Saver) end(ctx context.Context) {
	s.mu.Lock()
	s.ended = true
	u := s.current
	s.mu.Unlock()
	if u == nil {
		return
	}
	grace, cancel := context.WithTimeout(ctx, finalGrace)
	defer cancel()
	select {
	case <-u.done:
	case <-grace.Done():
		u.cancel()
		<-u.done
	}
}
