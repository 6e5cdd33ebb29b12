package simulate_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/runner/simulate"
)

// TestClockStandsStillWhileTheOwnerWorks checks that no alarm fires while the owner is still
// starting workers at the current time.
func TestClockStandsStillWhileTheOwnerWorks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := simulate.NewClock(epoch)
		owner := clock.Runner()
		owner.After(time.Hour)
		owner.Idle(1)
		// A worker that took no time has answered, so the owner works again.
		owner.Now()
		over := make(chan struct{})
		go func() {
			clock.Wait(t.Context(), 2, 10*time.Minute)
			close(over)
		}()
		synctest.Wait()
		select {
		case <-over:
			t.Errorf("a new worker: got its ten minutes over at %v, want it to wait for the owner", owner.Now())
		default:
		}
		owner.After(time.Hour)
		owner.Idle(1)
		<-over
		assert.Check(t, is.Equal(owner.Now().Sub(epoch), 10*time.Minute), "time when the worker is done: want 10m")
	})
}

// TestClockIgnoresCancelledWorkers checks that a cancelled worker stops waiting at the current
// time, and that this does not move the clock.
func TestClockIgnoresCancelledWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := simulate.NewClock(epoch)
		owner := clock.Runner()
		ctx, stop := context.WithCancel(t.Context())
		alarm := owner.After(time.Second)
		go clock.Wait(ctx, 1, time.Hour)
		owner.Idle(1)
		assert.Check(t, is.Equal((<-alarm).Sub(epoch), time.Second), "alarm of the owner")
		stop()
		owner.After(time.Minute)
		owner.Idle(1)
		synctest.Wait()
		assert.Check(t, is.Equal(owner.Now().Sub(epoch), time.Second), "time after the worker was stopped: want 1s as before")
	})
}
