package slots

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/raymond-action/raymond-action/internal/forge"
	"github.com/raymond-action/raymond-action/state"
)

// maxBeside is how many checkpoints are stored beside the run; the rest of
// MaxStores is for its end.
const maxBeside = MaxStores - 10

// firstPause is the pause after the second save that failed in a row; each further
// one is twice as long. Requests are repeated below, in package forge, whose comment
// says why these are the only two layers.
const firstPause = 5 * time.Second

const (
	finalGrace   = 10 * time.Second // for a save that is under way at the end
	longestFinal = 5 * time.Minute
)

// Result is what one save stored.
type Result struct {
	Store     string // where to, for people
	SeqStored int    // the step up to which the run is stored
	Bytes     int64
}

// SaverOptions are what a Saver of images of type T needs.
type SaverOptions[T any] struct {
	// Save stores an image. It is called by one goroutine at a time, and returns
	// soon after its context is done.
	Save     func(context.Context, T) (Result, error)
	Stored   func() int    // returns how many artifacts the job has stored
	Interval time.Duration // between the beginnings of two saves; 0 for every step
}

// Saver stores images of a run beside it, one at a time. Due, Start and Final are
// for the goroutine that owns the run; none but Final waits for anything.
type Saver[T any] struct {
	o      SaverOptions[T]
	events chan *state.Checkpoint

	mu       sync.Mutex // guards what follows
	begun    time.Time  // of the last save
	notUntil time.Time  // after failures
	failures int        // in a row
	err      error      // ends all saving
	ended    bool
	current  *save // nil: no save is under way
}

// save is a save that is under way.
type save struct {
	cancel context.CancelFunc
	done   chan struct{}
}

// NewSaver returns a saver that has nothing under way.
func NewSaver[T any](o SaverOptions[T]) *Saver[T] {
	return &Saver[T]{o: o, events: make(chan *state.Checkpoint, MaxStores)}
}

// Events brings what became of each save that Start began, for the owner to
// report. An owner that leaves hundreds of them unread loses the newest. The
// channel is never closed; after Final nothing is added.
func (s *Saver[T]) Events() <-chan *state.Checkpoint { return s.events }

// Err returns the *Conflict or the ErrFull that ended the saving beside the run.
func (s *Saver[T]) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Due reports whether a save is to begin at the given time: none is under way,
// the last one began an interval ago, or failed and its pause is over, and the job may
// store more.
func (s *Saver[T]) Due(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.isFree(now) {
		return false
	}
	return s.failures > 0 || s.begun.IsZero() || now.Sub(s.begun) >= s.o.Interval
}

// IsFree reports whether a save may begin at the given time, however soon that is after
// the last one.
func (s *Saver[T]) IsFree(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.isFree(now)
}

func (s *Saver[T]) isFree(now time.Time) bool {
	return s.current == nil && !s.isSpent() && (s.failures == 0 || !now.Before(s.notUntil))
}

// IsSpent reports whether nothing more is saved beside the run.
func (s *Saver[T]) IsSpent() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.isSpent()
}

func (s *Saver[T]) isSpent() bool { return s.ended || s.err != nil || s.o.Stored() >= maxBeside }

// Start begins to save an image and returns at once. Where a save is under way,
// or the saving has ended, it does nothing.
func (s *Saver[T]) Start(image T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current != nil || s.ended || s.err != nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	u := &save{cancel: cancel, done: make(chan struct{})}
	s.current, s.begun = u, time.Now()
	go s.run(ctx, u, image)
}

// run is the goroutine of one save.
func (s *Saver[T]) run(ctx context.Context, u *save, image T) {
	defer close(u.done)
	defer u.cancel()
	began := time.Now()
	result, err := s.o.Save(ctx, image)
	s.record(err)
	select {
	case s.events <- eventOf(result, time.Since(began), err):
	default:
	}
	s.mu.Lock()
	s.current = nil
	s.mu.Unlock()
}

// record notes the end of a save.
func (s *Saver[T]) record(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		s.failures = 0
		return
	}
	s.failures++
	s.notUntil = time.Now().Add(s.pause())
	var conflict *Conflict
	if errors.As(err, &conflict) || errors.Is(err, ErrFull) {
		s.err = err
	}
}

// pause is how long no save begins after one that failed. After the first failure
// the next state may be stored at once.
func (s *Saver[T]) pause() time.Duration {
	if s.failures <= 1 {
		return 0
	}
	return min(firstPause<<min(s.failures-2, 10), max(s.o.Interval, firstPause))
}

// eventOf is the event of a save.
func eventOf(r Result, took time.Duration, err error) *state.Checkpoint {
	ms := max(0, took.Milliseconds())
	if err != nil {
		return &state.Checkpoint{DurationMS: ms, Error: err.Error()}
	}
	return &state.Checkpoint{Store: r.Store, SeqStored: r.SeqStored, Bytes: r.Bytes, DurationMS: ms}
}

// Final stores the last image and returns the event of it. It waits for a save that is
// under way, for ten seconds, and then ends it. A service that fails
// for a time is asked again (forge.Patiently) until ctx ends, or for five minutes where
// that has no deadline. After Final nothing more is saved beside the run. There is an
// event also with an error.
func (s *Saver[T]) Final(ctx context.Context, image T) (*state.Checkpoint, error) {
	s.end(ctx)
	if err := s.Err(); err != nil && !errors.Is(err, ErrFull) {
		return eventOf(Result{}, 0, err), err
	}
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, longestFinal)
		defer cancel()
	}
	began := time.Now()
	result, err := s.o.Save(forge.Patiently(ctx), image)
	s.record(err)
	return eventOf(result, time.Since(began), err), err
}

// Stop ends a save that is under way and waits for its end. After it no save begins.
func (s *Saver[T]) Stop() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	s.end(ctx)
}

// end waits for the save that is under way.
func (s *Saver[T]) end(ctx context.Context) {
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
		<-u.done // Save returns soon after its context is done
	}
}
