package report

import (
	"fmt"
	"time"

	"github.com/raymond-action/raymond-action/state"
)

// timeline is when a run was active. A run that several jobs drive has a part in
// each of them.
type timeline struct {
	now     time.Time // of the last event
	began   time.Time // this part
	parts   int
	earlier time.Duration // of the parts that ended
	opening *state.RunStarted
	ending  *state.RunFinished // nil while the run is active
}

// wasKilled reports whether the last part has no end.
func (t *timeline) wasKilled() bool { return t.parts > 0 && t.ending == nil }

// open begins a part of the run. If the one before was killed, it ended with its
// last event.
func (t *timeline) open(b *state.RunStarted, now, last time.Time) {
	if t.wasKilled() {
		t.earlier += max(0, last.Sub(t.began))
	}
	t.opening, t.ending, t.began = b, nil, now
	t.parts++
}

func (t *timeline) end(b *state.RunFinished) {
	t.ending = b
	t.earlier += time.Duration(b.DurationMS) * time.Millisecond
}

// duration says how long this part of the run took, and how long all parts took.
func (t *timeline) duration() string {
	part, all := t.now.Sub(t.began), t.earlier
	if t.ending != nil {
		part = time.Duration(t.ending.DurationMS) * time.Millisecond
	} else {
		all += part
	}
	text := span(part)
	if t.parts > 1 {
		text += fmt.Sprintf(" (%s in %d parts)", span(all), t.parts)
	}
	return text
}

// stopwatch measures how long an execution was worked on, without the time
// between the parts of the run.
type stopwatch struct {
	began      time.Time
	resumed    time.Time     // when the work on it last began
	worked     time.Duration // before that
	isPaused   bool          // the run stopped before the execution ended
	isRepeated bool          // a later part of the run began it once more
}

func (s *stopwatch) pause(at time.Time) {
	if !s.isPaused {
		s.worked += max(0, at.Sub(s.resumed))
		s.isPaused = true
	}
}

func (s *stopwatch) resume(at time.Time) {
	if s.isPaused {
		s.isPaused, s.resumed = false, at
	}
}
