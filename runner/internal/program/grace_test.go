package program

import (
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/runner"
)

// TestGracePeriod checks that the CLI is ended if nothing follows its result during the grace period,
// and that a further turn stops the period.
func TestGracePeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewStream(runner.Order{}, nil, nil, nil)
		s.grace = 10 * time.Second
		for i, step := range []struct {
			report func()
			wait   time.Duration
			isDone bool // whether finished is closed after the wait
		}{
			{s.StopGrace, time.Hour, false}, {s.StartGrace, 9 * time.Second, false}, {s.StopGrace, time.Hour, false}, {s.StartGrace, 9 * time.Second, false},
			{s.StartGrace, 9 * time.Second, false}, // after a second result, the period begins again
			{s.StartGrace, 11 * time.Second, true}, {s.StopGrace, time.Second, true}, {s.StartGrace, time.Hour, true},
		} {
			step.report()
			time.Sleep(step.wait) // uses the fake time of synctest
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
