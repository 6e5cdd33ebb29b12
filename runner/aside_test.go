package runner_test

import (
	"bytes"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/raymond-action/raymond-action/state"
)

// TestSavedShowsWhatTheStoreHas: whoever stores the run elsewhere sees each
// saved step, and no step twice or unsaved.
func TestSavedShowsWhatTheStoreHas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "LOOP.md", nil)
		w.actor.slow, w.cfg.Deadline = 20*time.Second, time.Minute+time.Second
		var seqs []int
		w.cfg.Saved = func(run *state.Run, now time.Time) bool {
			seqs = append(seqs, run.Progress.Seq)
			data, err := run.Encode()
			if last := w.store.saves[len(w.store.saves)-1]; err != nil || !bytes.Equal(data, last) {
				t.Errorf("step %d: got a run that is not the saved one (%v)", run.Progress.Seq, err)
			}
			if now.IsZero() {
				t.Error("no time was given")
			}
			return false
		}
		if err := w.drive(false); err != nil {
			t.Fatal(err)
		}
		w.want(state.Suspended)
		var want []int
		for n := 1; n < w.run.Progress.Seq; n++ {
			want = append(want, n)
		}
		if !slices.Equal(seqs, want) {
			t.Errorf("steps shown: got %v, want all but the last: %v", seqs, want)
		}
	})
}

// TestSavedIsShownAgain as long as that is asked for: who could not store a step
// at once need not wait for the next one, which may take hours.
func TestSavedIsShownAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "END.md", nil)
		w.actor.slow = time.Hour
		var at []time.Duration
		began := time.Now()
		w.cfg.Saved = func(_ *state.Run, now time.Time) bool {
			at = append(at, now.Sub(began).Round(time.Second))
			return now.Sub(began) < 5*time.Second
		}
		if err := w.drive(false); err != nil {
			t.Fatal(err)
		}
		w.want(state.Completed)
		var want []time.Duration
		for n := range 6 {
			want = append(want, time.Duration(n)*time.Second)
		}
		if !slices.Equal(at, want) {
			t.Errorf("shown: got %v, want %v, and never again", at, want)
		}
	})
}

// TestAsideIsTold: what happens beside the run has its place in the event log.
func TestAsideIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "END.md", nil)
		w.actor.slow = time.Minute
		aside := make(chan state.Body)
		w.cfg.Aside = aside
		go func() { aside <- &state.Checkpoint{Store: "here", SeqStored: 1} }()
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
