package runner_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

// TestNothingStartsAfterTheDeadline: neither what follows an answer that comes when the
// deadline has passed and its timer has not fired, nor the first state of a run whose time
// was over before it was driven.
func TestNothingStartsAfterTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLoop(t, flow{"A": "<goto>B</goto>", "B": "<result>b</result>"}, nil)
		var late atomic.Bool
		l.slow, l.cfg.Deadline = 0, time.Minute
		l.cfg.Clock.Now = func() time.Time {
			if late.Load() {
				return time.Now().Add(time.Hour)
			}
			return time.Now()
		}
		l.babble = func(func(runner.Progress), int) {
			synctest.Wait() // the loop waits for the answer now, and for a timer that is in the future
			late.Store(true)
		}
		l.drive(false, state.Suspended)
		same(t, "asked for what follows", 0, len(l.asked("B")))
		same(t, "limits told", 1, len(told[*state.Limit](l)))
	})
	synctest.Test(t, func(t *testing.T) {
		l := newLoop(t, flow{"A": "<result>a</result>"}, nil)
		l.cfg.Deadline, l.cfg.Began = time.Minute, time.Now().Add(-time.Hour)
		l.drive(false, state.Suspended)
		same(t, "asked when the time was over", 0, len(l.orders))
		l.cfg.Deadline = 0
		l.drive(true, state.Completed)
	})
}

// TestAnAnswerAtTheDeadlineCounts: one that waits for the loop when that sees the deadline is
// applied and booked, without any grace, and not paid again.
func TestAnAnswerAtTheDeadlineCounts(t *testing.T) {
	for range 16 { // the loop takes the answer or the deadline first, by chance
		synctest.Test(t, func(t *testing.T) {
			l := newLoop(t, flow{"A": "<goto>B</goto>", "B": "<result>b</result>"}, func(o *state.Options) { o.Grace = 0 })
			l.cfg.Deadline = 2 * agentTime
			l.cfg.Clock.Idle = func(int) { time.Sleep(l.cfg.Deadline) } // both are there when the loop looks
			l.drive(false, state.Suspended)
			same(t, "states begun", 1, len(l.orders))
			same(t, "state that is next", "B.md", l.run.Agents[0].State)
			same(t, "cost", state.Dollar/10, l.run.Progress.TotalUSD)
			l.cfg.Deadline, l.cfg.Clock.Idle = 0, nil
			l.drive(true, state.Completed)
			same(t, "states begun in all", 2, len(l.orders))
			same(t, "cost in all", 2*state.Dollar/10, l.run.Progress.TotalUSD)
		})
	}
}
