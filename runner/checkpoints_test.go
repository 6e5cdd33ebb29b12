package runner_test

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/state"
)

// checkpoints is a runner.Checkpoints with replaceable methods.
type checkpoints struct {
	offer  func(*state.Run, time.Time) bool
	stored chan *state.Checkpoint
	check  error
}

// Offer implements runner.Checkpoints. Without offer, it accepts every step.
func (c checkpoints) Offer(run *state.Run, now time.Time) bool {
	return c.offer == nil || c.offer(run, now)
}

// Stored implements runner.Checkpoints.
func (c checkpoints) Stored() <-chan *state.Checkpoint { return c.stored }

// CheckResumable implements runner.Checkpoints.
func (c checkpoints) CheckResumable([]*state.Agent) error { return c.check }

// TestStepIsOfferedUntilItIsTaken checks that a step which could not be stored immediately is
// offered again. It must not wait for the next step, which may take hours.
func TestStepIsOfferedUntilItIsTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newWorld(t, "END", nil)
		l.slow = time.Hour
		var at []time.Duration
		began := time.Now()
		l.cfg.Checkpoints = checkpoints{offer: func(_ *state.Run, now time.Time) bool {
			at = append(at, now.Sub(began).Round(time.Second))
			return now.Sub(began) >= 5*time.Second
		}}
		l.drive(false, state.Completed)
		var want []time.Duration
		for n := range 6 {
			want = append(want, time.Duration(n)*time.Second)
		}
		assert.Check(t, is.DeepEqual(at, want), "offered")
	})
}

// TestStoredCheckpointsAreEvents checks that events about stored checkpoints are numbered like
// other events.
func TestStoredCheckpointsAreEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newWorld(t, "END", nil)
		l.slow = time.Minute
		stored := make(chan *state.Checkpoint)
		l.cfg.Checkpoints = checkpoints{stored: stored}
		go func() { stored <- &state.Checkpoint{Store: "here", SeqStored: 1} }()
		l.drive(false, state.Completed)
		at := slices.Index(l.log.names(), "checkpoint")
		if at < 0 || l.log.events[at].Seq != at+1 || len(l.log.events) != l.run.Progress.Events {
			t.Errorf("events: got %q (last %d), want a checkpoint numbered like the others", l.log.names(), l.run.Progress.Events)
		}
	})
}

// TestUnresumableRunFails checks that a run fails instead of being suspended if no later job
// could resume it.
func TestUnresumableRunFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newWorld(t, "LOOP", nil)
		l.slow, l.cfg.Deadline = 20*time.Second, time.Minute
		l.cfg.Checkpoints = checkpoints{check: errors.New("its work can't be stored")}
		l.drive(false, state.Failed)
		assert.Check(t, is.Contains(l.run.Progress.Reason, "its work can't be stored"), "reason: want why")
	})
}
