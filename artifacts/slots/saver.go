package slots

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/raymond-action/raymond-action/internal/forge"
	"github.com/raymond-action/raymond-action/state"
)

// maxBeside is how many checkpoints are stored beside the run; the rest of
// MaxStores is for its end.
const maxBeside = MaxStores - 10

// firstRetry is the pause after the second save that failed in a row; each further
// one is twice as long. The client of the service has retries of its own, and
// there is no other layer of them.
const firstRetry = 5 * time.Second

// Default times of a Saver.
const (
	DefaultInterval = time.Minute
	defaultGrace    = 10 * time.Second
	longestFinal    = 5 * time.Minute
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
	Save func(context.Context, T) (Result, error)
	// Stored returns how many artifacts the job has stored; nil counts the saves
	// that succeeded.
	Stored   func() int
	Interval time.Duration // between the beginnings of two saves; 0 for every step
	// Grace is how long Final lets a save go on that is under way; 0 for 10 s.
	Grace time.Duration
	// Warn is told of the first save that failed, from the saver's goroutine; nil
	// for nobody.
	Warn  func(string)
	Now   func() time.Time                           // nil for time.Now
	Sleep func(context.Context, time.Duration) error // nil for forge.Sleep
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
	stored   int
	err      error // ends all saving
	warned   bool
	ended    bool
	under    *underway // nil: no save is under way
}

// underway is a save that goes on.
type underway struct {
	cancel context.CancelFunc
	done   chan struct{}
}

// NewSaver returns a saver that has nothing under way.
func NewSaver[T any](o SaverOptions[T]) *Saver[T] {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Sleep == nil {
		o.Sleep = forge.Sleep
	}
	if o.Warn == nil {
		o.Warn = func(string) {}
	}
	if o.Grace <= 0 {
		o.Grace = defaultGrace
	}
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
// the last began an interval ago or failed and its back-off is over, and the job
// may store more.
func (s *Saver[T]) Due(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.under != nil || s.ended || s.err != nil || s.count() >= maxBeside:
		return false
	case s.failures > 0:
		return !now.Before(s.notUntil)
	}
	return s.begun.IsZero() || now.Sub(s.begun) >= s.o.Interval
}

// count returns how many artifacts the job has stored.
func (s *Saver[T]) count() int {
	if s.o.Stored != nil {
		return s.o.Stored()
	}
	return s.stored
}

// Start begins to save an image and returns at once. Where a save is under way,
// or the saving has ended, it does nothing.
func (s *Saver[T]) Start(image T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.under != nil || s.ended || s.err != nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	u := &underway{cancel: cancel, done: make(chan struct{})}
	s.under, s.begun = u, s.o.Now()
	go s.run(ctx, u, image)
}

// run is the goroutine of one save.
func (s *Saver[T]) run(ctx context.Context, u *underway, image T) {
	defer close(u.done)
	defer u.cancel()
	began := s.o.Now()
	result, err := s.o.Save(ctx, image)
	warn := s.settle(err)
	if warn {
		s.o.Warn(fmt.Sprintf("the run could not be stored, and goes on: %v", err))
	}
	select {
	case s.events <- told(result, s.o.Now().Sub(began), err):
	default:
	}
	s.mu.Lock()
	s.under = nil
	s.mu.Unlock()
}

// settle books the end of a save and reports whether its failure is to be warned
// of.
func (s *Saver[T]) settle(err error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		s.stored++
		s.failures = 0
		return false
	}
	s.failures++
	s.notUntil = s.o.Now().Add(s.backOff())
	if isLast(err) {
		s.err = err
	}
	first := !s.warned && !s.ended
	s.warned = s.warned || first
	return first
}

// backOff is how long after a failed save no other begins: the next state may
// come at once the first time.
func (s *Saver[T]) backOff() time.Duration {
	if s.failures <= 1 {
		return 0
	}
	return min(firstRetry<<min(s.failures-2, 10), max(s.o.Interval, firstRetry))
}

// isLast reports whether an error ends all saving.
func isLast(err error) bool {
	var conflict *Conflict
	return errors.As(err, &conflict) || errors.Is(err, ErrFull)
}

// told is the event of a save.
func told(r Result, took time.Duration, err error) *state.Checkpoint {
	ms := max(0, took.Milliseconds())
	if err != nil {
		return &state.Checkpoint{DurationMS: ms, Error: err.Error()}
	}
	return &state.Checkpoint{Store: r.Store, SeqStored: r.SeqStored, Bytes: r.Bytes, DurationMS: ms}
}

// Final stores the last image and returns the event of it. It waits for a save
// that is under way, for as long as SaverOptions.Grace, and ends it then. A
// service that fails for a time is tried patiently (forge.Patiently), until ctx
// ends, or for five minutes when that has no deadline. After Final nothing is saved beside the run any more. The
// event is there with an error too.
func (s *Saver[T]) Final(ctx context.Context, image T) (*state.Checkpoint, error) {
	s.end(ctx)
	if err := s.Err(); err != nil && !errors.Is(err, ErrFull) {
		return told(Result{}, 0, err), err
	}
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, longestFinal)
		defer cancel()
	}
	began := s.o.Now()
	result, err := s.o.Save(forge.Patiently(ctx), image)
	s.settle(err)
	return told(result, s.o.Now().Sub(began), err), err
}

// Stop ends a save that is under way, waits until it is gone, and lets none begin
// any more.
func (s *Saver[T]) Stop() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	s.end(ctx)
}

// end waits for the save that is under way.
func (s *Saver[T]) end(ctx context.Context) {
	s.mu.Lock()
	s.ended = true
	u := s.under
	s.mu.Unlock()
	if u == nil {
		return
	}
	grace, cancel := context.WithTimeout(ctx, s.o.Grace)
	defer cancel()
	select {
	case <-u.done:
	case <-grace.Done():
		u.cancel()
		<-u.done // Save returns soon after its context is done
	}
}
