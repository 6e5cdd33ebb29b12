package runner_test

import (
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

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
