package store

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/raymond-action/raymond-action/artifacts/slots"
	"github.com/raymond-action/raymond-action/internal/forge"
	"github.com/raymond-action/raymond-action/state"
)

// maxBeside is how many checkpoints a job stores while the run is driven. The rest of
// slots.MaxStores is reserved for the end of the run.
const maxBeside = slots.MaxStores - 10

// afterFailure is the pause after a failed save. Single requests are repeated in package forge,
// whose comment explains why there are only these two layers of retries.
const afterFailure = 30 * time.Second

// finalGrace is how long final waits for a save that is under way.
const finalGrace = 10 * time.Second

// saver stores snapshots of a run in the background, one at a time. isDue, start and final are for
// the goroutine that owns the run. Only final may wait.
type saver struct {
	save     func(context.Context, *snapshot) (state.Checkpoint, error) // returns soon after its context is done
	stored   func() int                                                 // returns how many artifacts the job has stored
	interval time.Duration                                              // between the starts of two saves; 0 for every step
	// events receives the result of each save that start began. If hundreds of events are unread,
	// the newest are lost. The channel is never closed; after final, it receives nothing.
	events chan *state.Checkpoint

	mu       sync.Mutex // guards the fields below
	begun    time.Time  // start of the last save; zero after a failure
	notUntil time.Time  // after a failure, no save starts earlier
	err      error      // the *slots.Conflict or slots.ErrFull that ends all saving
	ended    bool
	current  *pending // nil if no save is under way
}

// pending is a save that is under way.
type pending struct {
	cancel context.CancelFunc
	done   chan struct{}
}

// newSaver returns a saver for the checkpoints of a writer.
func newSaver(w *writer) *saver {
	return &saver{save: w.save, stored: w.shelf.Stored, interval: w.c.Interval, events: make(chan *state.Checkpoint, slots.MaxStores)}
}

// isDue reports whether a save should start at the given time: no other save is under way, the last
// one started at least an interval ago or the pause after a failure is over, and the job may store
// more.
func (s *saver) isDue(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.isFree(now) && (s.begun.IsZero() || now.Sub(s.begun) >= s.interval)
}

// isFree reports whether a save may start now, regardless of the interval.
func (s *saver) isFree(now time.Time) bool {
	return s.current == nil && !s.isSpent() && !now.Before(s.notUntil)
}

// mayStart reports whether start would start a save at the given time. isOver reports whether no
// more saves start in the background.
func (s *saver) mayStart(now time.Time) (may, isOver bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.isFree(now), s.isSpent()
}

func (s *saver) isSpent() bool { return s.ended || s.err != nil || s.stored() >= maxBeside }

// start starts to save a snapshot and returns at once. It does nothing if a save is under way or
// has just failed, or if the saving has ended.
func (s *saver) start(shot *snapshot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.isFree(time.Now()) {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	u := &pending{cancel: cancel, done: make(chan struct{})}
	s.current, s.begun = u, time.Now()
	go func() {
		defer close(u.done)
		defer cancel()
		event, _ := s.try(ctx, shot) // the event contains the error
		s.mu.Lock()
		defer s.mu.Unlock()
		s.current = nil // before the event: its receiver may start the next save at once
		select {
		case s.events <- event:
		default:
		}
	}()
}

// try makes one save and records the result.
func (s *saver) try(ctx context.Context, shot *snapshot) (*state.Checkpoint, error) {
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

// final stores the last snapshot and returns its event, also with an error. It waits up to ten
// seconds for a save that is under way, and then cancels it. While the service fails, requests are
// repeated (see forge.WithPatience) until ctx ends. After final, the saver stores no snapshots in
// the background.
func (s *saver) final(ctx context.Context, shot *snapshot) (*state.Checkpoint, error) {
	s.end(ctx)
	if s.err != nil && !errors.Is(s.err, slots.ErrFull) {
		return &state.Checkpoint{Error: s.err.Error()}, s.err
	}
	return s.try(forge.WithPatience(ctx), shot)
}

// stop cancels a save that is under way and waits for its end. After stop, no save starts.
func (s *saver) stop() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	s.end(ctx)
}

// end waits for the save that is under way.
func (s *saver) end(ctx context.Context) {
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
