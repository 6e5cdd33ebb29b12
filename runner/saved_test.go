package runner_test

import (
	"bytes"
	"fmt"
	"testing"
	"testing/synctest"

	"gotest.tools/v3/assert"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

// TestNothingStartsBeforeItIsSaved: when a save fails, the run in memory is the one that was
// saved last, and only what it says to be under way, or over, was ever started.
func TestNothingStartsBeforeItIsSaved(t *testing.T) {
	for n := 1; n <= 12; n++ {
		synctest.Test(t, func(t *testing.T) {
			l := newWorld(t, "START", nil)
			l.store.fail = n + 1
			r := runner.New(l.cfg, l.run)
			assert.ErrorIs(t, r.Run(t.Context(), false, nil), errDisk, "run with save %d failing", n+1)
			if now, err := r.State().Encode(); err != nil || !bytes.Equal(now, l.store.saves[n-1]) {
				t.Errorf("run after save %d has failed: got (%v)\n%s\nwant\n%s", n+1, err, now, l.store.saves[n-1])
			}
			same(t, fmt.Sprintf("invocations that were started up to save %d", n), r.State().Progress.Launches, len(l.orders))
		})
	}
}

// TestWhatAKilledProcessUsedIsBooked: what was seen of an invocation that a crash cut off
// is in the cost of the run.
func TestWhatAKilledProcessUsedIsBooked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newWorld(t, "END", nil)
		l.cfg.ListPrice = func(u state.Usage) (state.USD, bool) { return state.USD(u.Output) * state.Dollar, true }
		l.babble = func(tell func(runner.Progress), n int) {
			if n == 0 {
				tell(runner.Progress{Metered: &runner.MeteredUsage{{Model: "m", Output: 3}}})
			}
		}
		l.crash(2) // the start, and what was seen
		l.calls["main END.md"] = 1
		l.drive(true, state.Completed)
		same(t, "cost of the run", 3*state.Dollar+state.Dollar/10, l.run.Progress.TotalUSD)
	})
}

// allowances is a meter that notes what it is told.
type allowances struct{ told []string }

func (a *allowances) SetAllowance(left state.USD, running []string) {
	a.told = append(a.told, fmt.Sprintf("%s for %d", left, len(running)))
}

// TestTheMeterIsToldWhatIsLeft of the budget, after each step.
func TestTheMeterIsToldWhatIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLoop(t, flow{"A": "<goto>B</goto>", "B": "<result>x</result>"}, nil)
		meter := &allowances{}
		l.cfg.Meter = meter
		l.drive(false, state.Completed)
		same(t, "told", []string{"10 for 1", "9.9 for 1", "9.8 for 0"}, meter.told)
	})
}
