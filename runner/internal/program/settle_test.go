package program

import (
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/runner"
)

// TestSettle: a CLI is done when nothing follows its result for a while, and a further turn may take its time.
func TestSettle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewStream(runner.Order{}, nil, nil, nil)
		s.grace = 10 * time.Second
		for i, step := range []struct {
			tell   func()
			wait   time.Duration
			isDone bool // after the wait
		}{
			{s.StopGrace, time.Hour, false}, {s.StartGrace, 9 * time.Second, false}, {s.StopGrace, time.Hour, false}, {s.StartGrace, 9 * time.Second, false},
			{s.StartGrace, 9 * time.Second, false}, // a second result begins the wait again
			{s.StartGrace, 11 * time.Second, true}, {s.StopGrace, time.Second, true}, {s.StartGrace, time.Hour, true},
		} {
			step.tell()
			time.Sleep(step.wait) // of the bubble's clock
			synctest.Wait()
			isDone := false
			select {
			case <-s.finished:
				isDone = true
			default:
			}
			assert.Check(t, is.Equal(isDone, step.isDone), "step %d: done", i)
		}
	})
}
