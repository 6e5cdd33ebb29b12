package claude

import (
	"sync"
	"time"
)

// resultTimer notices that the CLI has nothing more to say: a while has passed
// since a result record, and no new turn has begun. There are several turns when
// work in the background ends after the first.
type resultTimer struct {
	done  chan struct{} // closed when it has nothing more to say
	after time.Duration

	mu    sync.Mutex  // guards timer and its replacement
	timer *time.Timer // nil while a turn is under way
}

func newResultTimer(after time.Duration) *resultTimer {
	return &resultTimer{done: make(chan struct{}), after: after}
}

// turn is told whether a turn has begun (true) or ended (false). A nil
// resultTimer notices nothing.
func (s *resultTimer) turn(begun bool) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer != nil && !s.timer.Stop() {
		return // done already
	}
	s.timer = nil
	if !begun {
		s.timer = time.AfterFunc(s.after, func() { close(s.done) })
	}
}

// stop ends the waiting. The caller has no more use for done.
func (s *resultTimer) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer != nil {
		s.timer.Stop()
	}
}
