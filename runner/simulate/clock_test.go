package simulate_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/raymond-action/raymond-action/runner/simulate"
)

// TestClockStandsStillWhileTheOwnerWorks: what a worker waits for does not come
// before the owner has started all that it starts now.
func TestClockStandsStillWhileTheOwnerWorks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := simulate.NewClock(epoch)
		owner := clock.Runner()
		owner.After(time.Hour)
		owner.Idle(1)
		owner.Now() // its worker, which took no time, has answered
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
		if got := owner.Now().Sub(epoch); got != 10*time.Minute {
			t.Errorf("time when the worker is done: got %v, want 10m", got)
		}
	})
}

// TestClockLetsGoOfWhatIsStopped, at the time it shows.
func TestClockLetsGoOfWhatIsStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := simulate.NewClock(epoch)
		owner := clock.Runner()
		ctx, stop := context.WithCancel(t.Context())
		alarm := owner.After(time.Second)
		go clock.Wait(ctx, 1, time.Hour)
		owner.Idle(1)
		if got := (<-alarm).Sub(epoch); got != time.Second {
			t.Errorf("alarm of the owner: got %v, want 1s", got)
		}
		stop()
		owner.After(time.Minute)
		owner.Idle(1)
		synctest.Wait()
		if got := owner.Now().Sub(epoch); got != time.Second {
			t.Errorf("time after the worker was stopped: got %v, want 1s as before", got)
		}
	})
}
