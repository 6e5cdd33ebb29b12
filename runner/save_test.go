package runner_test

import (
	"bytes"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

// TestNothingStartsBeforeItIsSaved checks the run in memory after a failed save. It must be the run
// that was saved last, and it must contain every invocation that has started.
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

// TestUsageOfKilledProcessIsBooked checks that the run's cost includes tokens that were counted in
// an invocation before a crash cut it off.
func TestUsageOfKilledProcessIsBooked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newWorld(t, "END", nil)
		l.cfg.ListPrice = func(u state.Usage) (state.USD, bool) { return state.USD(u.Output) * state.Dollar, true }
		l.beforeAnswer = func(report func(runner.Progress), n int) {
			if n == 0 {
				report(runner.Progress{Metered: &runner.MeteredUsage{{Model: "m", Output: 3}}})
			}
		}
		l.crash(2) // save 1 contains the start, save 2 the counted tokens
		l.calls["main END.md"] = 1
		l.drive(true, state.Completed)
		same(t, "cost of the run", 3*state.Dollar+state.Dollar/10, l.run.Progress.TotalUSD)
	})
}

// allowances is a meter that records its allowances.
type allowances struct{ got []string }

// SetAllowance implements runner.Meter.
func (a *allowances) SetAllowance(left state.USD, running []string) {
	a.got = append(a.got, fmt.Sprintf("%s for %d", left, len(running)))
}

// TestMeterGetsRestOfBudget checks that the meter gets the remaining budget after each step.
func TestMeterGetsRestOfBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLoop(t, flow{"A": "<goto>B</goto>", "B": "<result>x</result>"}, nil)
		meter := &allowances{}
		l.cfg.Meter = meter
		l.drive(false, state.Completed)
		same(t, "allowances", []string{"10 for 1", "9.9 for 1", "9.8 for 0"}, meter.got)
	})
}

// slowStore is a store for one failure. If isNext is set, the next save takes five seconds, and the
// save after that fails.
type slowStore struct {
	*memory
	isNext bool
}

// Append implements runner.Store.
func (s *slowStore) Append(d *state.Delta) error {
	if s.isNext {
		s.isNext = false
		time.Sleep(5 * time.Second)
		s.fail = len(s.saves) + 2
	}
	return s.memory.Append(d)
}

// TestEndBehindFailedSaveCounts checks that drain doesn't wait for a worker whose last message is
// handled after a failed save. While a step is being saved, one agent reports an id, whose save
// fails, and another agent ends.
func TestEndBehindFailedSaveCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLoop(t, flow{"A": `<fork next="B">C</fork>`, "B": "<result>b</result>", "C": "<result>c</result>"},
			func(o *state.Options) { o.MaxParallel = 2 })
		store := &slowStore{memory: l.store}
		l.cfg.Store = store
		invocations := 0
		l.beforeAnswer = func(report func(runner.Progress), _ int) {
			l.mu.Lock()
			invocations++
			isSecond := invocations == 2
			l.mu.Unlock()
			if isSecond {
				store.isNext = true
				report(runner.Progress{CLIID: "one"})
				time.Sleep(agentTime / 2) // wait until the first id is being saved
				report(runner.Progress{CLIID: "two"})
			}
		}
		assert.ErrorIs(t, runner.New(l.cfg, l.run).Run(t.Context(), false, nil), errDisk)
		same(t, "invocations", 3, len(l.orders))
	})
}
