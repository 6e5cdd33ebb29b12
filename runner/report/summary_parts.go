package report

import (
	"time"

	"github.com/raymond-action/raymond-action/state"
)

// goOn begins a part of the run. One before it that was killed ended with its last
// event. Agents that had failed try again.
func (t *tale) goOn(b *state.RunStarted, now, last time.Time) {
	if t.parts > 0 && t.ending == nil {
		t.earlier += max(0, last.Sub(t.part))
		t.pause(last)
	}
	t.opening, t.ending, t.part = b, nil, now
	t.parts++
	t.unstored, t.result = nil, passage{}
	for _, a := range t.actors {
		if a.standing == hasFailed {
			a.standing, a.fault, a.isJudged = atWork, passage{}, false
		}
	}
}

// pause marks what was under way when the run came to rest, or died.
func (t *tale) pause(at time.Time) {
	for _, x := range t.working {
		if x.ended == nil && !x.isPaused {
			x.worked += max(0, at.Sub(x.onward))
			x.isPaused = true
		}
	}
}

// isAtWork reports whether an execution is under way.
func (x *execution) isAtWork() bool { return x.ended == nil && !x.isPaused }
