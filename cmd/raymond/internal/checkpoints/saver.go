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

// maxBeside is how many checkpoints a job stores while the run is driven. The rest of
// slots.MaxStores is reserved for the end of the run.
const maxBeside = slots.MaxStores - 10

// afterFailure is the pause after a failed save. Single requests are repeated in package forge,
// whose comment explains why there are only these two layers of retries.
const afterFailure = 30 * time.Second

// finalGrace is how long Final waits for a save that is under way.
const finalGrace = 10 * time.Second

// Saver stores snapshots of a run in the background, one at a time. Due, Start and Final are for
// the goroutine that owns the run. Only Final may wait.
type Saver struct {
	save     func(context.Context, *Snapshot) (state.Checkpoint, error) // returns soon after its context is done
	stored   func() int                                                 // returns how many artifacts the job has stored
	interval time.Duration                                              // between the starts of two saves; 0 for every step
	events   chan *state.Checkpoint

	mu       sync.Mutex // guards the fields below
	begun    time.Time  // start of the last save; zero after a failure
	notUntil time.Time  // after a failure, no save starts earlier
	err      error      // the *slots.Conflict or slots.ErrFull that ends all saving
	ended    bool
	current  *save // nil if no save is under way
}

// save is a save that is under way.
type save struct {
	cancel context.CancelFunc
	done   chan struct{}
}

// NewSaver returns a saver for the store.
func (s *Store) NewSaver(interval time.Duration) *Saver {
	return &Saver{save: s.Save, stored: s.slots.Stored, interval: interval, events: make(chan *state.Checkpoint, slots.MaxStores)}
}

// Events returns a channel that receives the result of each save that Start began, for the owner to
// report. If the owner leaves hundreds of events unread, the newest are lost. The channel is never
// closed; after Final, it receives nothing.
func (s *Saver) Events() <-chan *state.Checkpoint { return s.events }

// Due reports whether a save should start at the given time: no other save is under way, the last
// one started at least an interval ago or the pause after a failure is over, and the job may store
// more.
func (s *Saver) Due(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.isFree(now) && (s.begun.IsZero() || now.Sub(s.begun) >= s.interval)
}

// isFree reports whether a save may start now, regardless of the interval.
func (s *Saver) isFree(now time.Time) bool {
	return s.current == nil && !s.isSpent() && !now.Before(s.notUntil)
}

// IsSpent reports whether the Saver has stopped storing snapshots in the background.
func (s *Saver) IsSpent() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.isSpent()
}

func (s *Saver) isSpent() bool { return s.ended || s.err != nil || s.stored() >= maxBeside }

// Start starts to save a snapshot and returns at once. It does nothing if a save is under way or
// has just failed, or if the saving has ended.
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
		event, _ := s.try(ctx, shot) // the event contains the error
		select {
		case s.events <- event:
		default:
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.current = nil
	}()
}

// try makes one save and records the result.
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

// Final stores the last snapshot and returns its event, also with an error. It waits up to ten
// seconds for a save that is under way, and then cancels it. While the service fails, requests are
// repeated (see forge.WithPatience) until ctx ends. After Final, the Saver stores no snapshots in
// the background.
func (s *Saver) Final(ctx context.Context, shot *Snapshot) (*state.Checkpoint, error) {
	s.end(ctx)
	if s.err != nil && !errors.Is(s.err, slots.ErrFull) {
		return &state.Checkpoint{Error: s.err.Error()}, s.err
	}
	return s.try(forge.WithPatience(ctx), shot)
}

// Stop cancels a save that is under way and waits for its end. After Stop, no save starts.
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
