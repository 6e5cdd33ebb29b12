package runner_test

import (
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

// slowly is a store whose next save takes five seconds once it is told so, and whose save
// after that one fails.
type slowly struct {
	*memory
	isNext bool
}

func (s *slowly) Append(d *state.Delta) error {
	if s.isNext {
		s.isNext = false
		time.Sleep(5 * time.Second)
		s.fail = len(s.saves) + 2
	}
	return s.memory.Append(d)
}

// TestAnEndBehindWhatCantBeSavedCounts: while a step was saved, one agent has told
// something that has to be saved, and another one has ended. When that can't be saved,
// the run still waits for nobody who has ended.
func TestAnEndBehindWhatCantBeSavedCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLoop(t, flow{"A": `<fork next="B">C</fork>`, "B": "<result>b</result>", "C": "<result>c</result>"},
			func(o *state.Options) { o.MaxParallel = 2 })
		store := &slowly{memory: l.store}
		l.cfg.Store = store
		invocations := 0
		l.babble = func(tell func(runner.Progress), _ int) {
			l.mu.Lock()
			invocations++
			isSecond := invocations == 2
			l.mu.Unlock()
			if isSecond {
				store.isNext = true
				tell(runner.Progress{CLIID: "one"})
				time.Sleep(agentTime / 2) // until that is being saved
				tell(runner.Progress{CLIID: "two"})
			}
		}
		assert.ErrorIs(t, runner.New(l.cfg, l.run).Run(t.Context(), false, nil), errDisk)
		same(t, "invocations", 3, len(l.orders))
	})
}
