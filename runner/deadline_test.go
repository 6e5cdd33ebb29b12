package runner_test

import (
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/state"
)

// TestAnswerAtDeadlineCounts checks that an answer which arrives at the same time as the deadline is
// applied, even without a grace period. The answer must be charged once, and not requested again.
func TestAnswerAtDeadlineCounts(t *testing.T) {
	for range 16 { // the order in which the loop receives answer and deadline is random
		synctest.Test(t, func(t *testing.T) {
			l := newLoop(t, flow{"A": "<goto>B</goto>", "B": "<result>b</result>"}, func(o *state.Options) { o.Grace = 0 })
			l.cfg.Deadline = 2 * agentTime
			l.cfg.Clock.Idle = func(int) { time.Sleep(l.cfg.Deadline) } // both are due when the loop continues
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

// TestDeadlineCountsFromStartTime checks that the deadline counts from a start time before Run. One
// of the start times is so early that the deadline has already passed.
func TestDeadlineCountsFromStartTime(t *testing.T) {
	for before, want := range map[time.Duration]time.Duration{0: time.Minute, 20 * time.Second: 40 * time.Second, time.Hour: 0} {
		synctest.Test(t, func(t *testing.T) {
			l := newLoop(t, flow{"A": "<goto>A</goto>"}, func(o *state.Options) { o.Grace = 0; o.BudgetUSD = 0 })
			l.cfg.Deadline, l.cfg.StartTime, l.cfg.Continuations = time.Minute, time.Now().Add(-before), 3
			began := time.Now()
			l.drive(false, state.Suspended)
			if took := time.Since(began); took < want || took > want+15*time.Second {
				t.Errorf("%v before: got suspended after %v, want after %v", before, took, want)
			}
			p := l.run.Progress
			assert.Check(t, is.Equal(p.Continuing, map[bool]state.Continuation{true: state.Continues, false: state.NoProgress}[want > 0]), "%v before", before)
		})
	}
}
