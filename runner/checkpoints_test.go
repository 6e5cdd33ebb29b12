package runner_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/raymond-action/raymond-action/state"
)

// checkpoints is a runner.Checkpoints whose parts can be replaced.
type checkpoints struct {
	offer  func(*state.Run, time.Time) bool
	stored chan *state.Checkpoint
	check  error
}

func (c checkpoints) Offer(run *state.Run, now time.Time) bool {
	return c.offer == nil || c.offer(run, now)
}

func (c checkpoints) Stored() <-chan *state.Checkpoint { return c.stored }

func (c checkpoints) CheckResumable([]*state.Agent) error { return c.check }

// TestEachSavedStepIsOffered for a checkpoint, and no step twice or unsaved.
func TestEachSavedStepIsOffered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "LOOP.md", nil)
		w.actor.slow, w.cfg.Deadline = 20*time.Second, time.Minute+time.Second
		var seqs []int
		w.cfg.Checkpoints = checkpoints{offer: func(run *state.Run, now time.Time) bool {
			seqs = append(seqs, run.Progress.Seq)
			data, err := run.Encode()
			if last := w.store.saves[len(w.store.saves)-1]; err != nil || !bytes.Equal(data, last) {
				t.Errorf("step %d: got a run that is not the saved one (%v)", run.Progress.Seq, err)
			}
			if now.IsZero() {
				t.Error("no time was given")
			}
			return true
		}}
		if err := w.drive(false); err != nil {
			t.Fatal(err)
		}
		w.want(state.Suspended)
		var want []int
		for n := 1; n < w.run.Progress.Seq; n++ {
			want = append(want, n)
		}
		if !slices.Equal(seqs, want) {
			t.Errorf("steps offered: got %v, want all but the last: %v", seqs, want)
		}
	})
}

// TestStepIsOfferedUntilItIsTaken: what could not be stored at once need not wait
// for the next step, which may take hours.
func TestStepIsOfferedUntilItIsTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "END.md", nil)
		w.actor.slow = time.Hour
		var at []time.Duration
		began := time.Now()
		w.cfg.Checkpoints = checkpoints{offer: func(_ *state.Run, now time.Time) bool {
			at = append(at, now.Sub(began).Round(time.Second))
			return now.Sub(began) >= 5*time.Second
		}}
		if err := w.drive(false); err != nil {
			t.Fatal(err)
		}
		w.want(state.Completed)
		var want []time.Duration
		for n := range 6 {
			want = append(want, time.Duration(n)*time.Second)
		}
		if !slices.Equal(at, want) {
			t.Errorf("offered: got %v, want %v, and never again", at, want)
		}
	})
}

// TestStoredCheckpointsAreEvents with numbers like the others.
func TestStoredCheckpointsAreEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "END.md", nil)
		w.actor.slow = time.Minute
		stored := make(chan *state.Checkpoint)
		w.cfg.Checkpoints = checkpoints{stored: stored}
		go func() { stored <- &state.Checkpoint{Store: "here", SeqStored: 1} }()
		if err := w.drive(false); err != nil {
			t.Fatal(err)
		}
		w.want(state.Completed)
		at := slices.Index(w.log.names(), "checkpoint")
		if at < 0 || w.log.events[at].Seq != at+1 || len(w.log.events) != w.run.Progress.Events {
			t.Errorf("events: got %q (last %d), want a checkpoint numbered like the others", w.log.names(), w.run.Progress.Events)
		}
	})
}

// TestRunThatNobodyCanResumeFails instead of being suspended.
func TestRunThatNobodyCanResumeFails(t *testing.T) {
	for _, why := range []error{nil, errors.New("its work can't be stored")} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, "LOOP.md", nil)
			w.actor.slow, w.cfg.Deadline = 20*time.Second, time.Minute
			w.cfg.Checkpoints = checkpoints{check: why}
			if err := w.drive(false); err != nil {
				t.Fatal(err)
			}
			if why == nil {
				w.want(state.Suspended)
				return
			}
			w.want(state.Failed)
			if reason := w.run.Progress.Reason; !strings.Contains(reason, why.Error()) {
				t.Errorf("reason: got %q, want it to contain %q", reason, why)
			}
		})
	}
}
