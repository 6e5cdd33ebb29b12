package claude

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestResultTimer holds that a CLI is done when nothing follows its result for a
// while, and that a further turn may take its time.
func TestResultTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newResultTimer(10 * time.Second)
		steps := []struct {
			begun bool
			wait  time.Duration
			want  bool // done after the wait
		}{
			{true, time.Hour, false},
			{false, 9 * time.Second, false},
			{true, time.Hour, false},
			{false, 9 * time.Second, false},
			{false, 9 * time.Second, false}, // a second result begins the wait again
			{false, 11 * time.Second, true},
			{true, time.Second, true}, // too late
			{false, time.Hour, true},
		}
		for i, step := range steps {
			s.turn(step.begun)
			got := false
			select {
			case <-s.done:
				got = true
			case <-time.After(step.wait):
				select {
				case <-s.done:
					got = true
				default:
				}
			}
			if got != step.want {
				t.Errorf("step %d %+v: got done %v, want %v", i, step, got, step.want)
			}
		}
		s.stop()
	})
}
