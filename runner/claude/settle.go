package claude

import (
	"sync"
	"time"
)

// settling notices that the CLI has nothing more to say: a while has passed
// since a result record, and no new turn has begun. Several turns happen when
// work in the background ends after the first.
type settling struct {
	done  chan struct{} // closed when it is settled
	after time.Duration

	mu    sync.Mutex  // guards timer and its replacement
	timer *time.Timer // nil while a turn is under way
}

func newSettling(after time.Duration) *settling {
	return &settling{done: make(chan struct{}), after: after}
}

// turn is told whether a turn has begun (true) or ended (false). A nil settling
// notices nothing.
func (s *settling) turn(begun bool) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer != nil && !s.timer.Stop() {
		return // settled already
	}
	s.timer = nil
	if !begun {
		s.timer = time.AfterFunc(s.after, func() { close(s.done) })
	}
}

// stop ends the waiting. The caller has no more use for done.
func (s *settling) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer != nil {
		s.timer.Stop()
	}
}
