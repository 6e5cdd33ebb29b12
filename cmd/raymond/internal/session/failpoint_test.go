//go:build linux

package session_test

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
	"github.com/raymond-action/raymond-action/internal/invarianttest"
	"github.com/raymond-action/raymond-action/state"
)

// breakAt runs raymond so that it ends itself at the n-th failpoint, and returns
// false when it came to its end before.
func (s *site) breakAt(n int, args ...string) (sitetest.Outcome, bool) {
	s.T.Helper()
	o := s.StartWith([]string{fmt.Sprint(sitetest.KillVar, "=", n)}, args...).Wait()
	if o.Code != -1 && o.Code != 0 {
		s.T.Fatalf("raymond %q broken at failpoint %d: got %v\nwant a kill or success", args, n, o)
	}
	return o, o.Code == -1
}

// wantLike compares a run that was killed and resumed with an undisturbed one. What it
// did to get there is for the invariants, at the end of the test.
func (s *site) wantLike(o sitetest.Outcome, want sitetest.Trace) {
	s.T.Helper()
	s.Whole = invarianttest.EffectsOf(want.Effects)
	got := s.Trace(o)
	if got.Stdout != want.Stdout {
		s.T.Errorf("stdout: got %q, want %q", got.Stdout, want.Stdout)
	}
	if d := cmp.Diff(want.Results, got.Results); d != "" {
		s.T.Errorf("results of the agents (-want +got):\n%s", d)
	}
	if d := cmp.Diff(want.Events, got.Events); d != "" {
		s.T.Errorf("event log (-want +got):\n%s", d)
	}
	if d := cmp.Diff(want.Effects, slices.Compact(got.Effects)); d != "" {
		s.T.Errorf("side effects (-want +got):\n%s", d)
	}
	s.wantToldTwice()
	s.wantHistory()
}

// wantHistory checks that the history has every step, whenever the process was killed, and ends
// with the run as it is.
func (s *site) wantHistory() {
	s.T.Helper()
	now, err := state.Read(s.StateDir(), sitetest.RunID)
	if err != nil {
		s.T.Fatal(err)
	}
	var last *state.Run
	for step, err := range state.ReadHistory(s.StateDir(), sitetest.RunID) {
		if err != nil || last != nil && step.After().Progress.Seq != last.Progress.Seq+1 {
			s.T.Fatalf("history: step %d after %d (%v)", step.Run.Progress.Seq, last.Progress.Seq, err)
		}
		last = step.After()
	}
	want, err := now.Encode()
	got, gotErr := last.Encode()
	if d := cmp.Diff(string(want), string(got)); d != "" || err != nil || gotErr != nil {
		s.T.Errorf("the run in the end of the history (-saved +history, %v, %v):\n%s", err, gotErr, d)
	}
	for n := 1; n <= now.Progress.Iterations; n++ {
		if _, err := state.Started(s.StateDir(), sitetest.RunID, n); err != nil {
			s.T.Errorf("history: %v", err)
		}
	}
}

// wantToldTwice checks that the copy of the log has what the log has.
func (s *site) wantToldTwice() {
	s.T.Helper()
	if d := cmp.Diff(numbers(s.Events()), numbers(sitetest.EventsIn(s.T, s.File("copy.jsonl")))); d != "" {
		s.T.Errorf("copy of the event log (-log +copy):\n%s", d)
	}
}

func numbers(events []state.Event) []string {
	var list []string
	for _, e := range events {
		list = append(list, fmt.Sprint(e.Seq, " ", e.Body.Type()))
	}
	return list
}

// eachFailpoint runs f in parallel for n = 1, 2, 3 … until it returns false: the
// run came to its end before failpoint n.
func eachFailpoint(t *testing.T, step int, f func(t *testing.T, n int) bool) {
	var done atomic.Bool
	var reached atomic.Int32
	n := 1
	for !done.Load() && !t.Failed() {
		t.Run("from", func(t *testing.T) {
			for range 4 {
				at := n
				n += step
				t.Run(fmt.Sprint(at), func(t *testing.T) {
					t.Parallel()
					if !f(t, at) {
						done.Store(true)
						return
					}
					reached.Add(1)
				})
			}
		})
	}
	t.Logf("%d failpoints", reached.Load())
}

// TestKilledAtEveryFailpoint kills a run at every moment that a save has, and
// resumes it: nothing differs from a run that nobody disturbed.
func TestKilledAtEveryFailpoint(t *testing.T) {
	t.Parallel()
	want := sitetest.Undisturbed(t, 1)
	var kills atomic.Int32
	// A save has three failpoints; a step of seven comes to each of them.
	step, least := sitetest.Dose(7, 1), sitetest.Dose(10, 40)
	eachFailpoint(t, step, func(t *testing.T, n int) bool {
		s := canonical(t)
		o, killed := s.breakAt(n, s.CanonicalArgs(1)...)
		if killed {
			kills.Add(1)
			o = s.afterKill(1)
		}
		s.wantLike(o, want)
		return killed
	})
	if kills.Load() < int32(least) {
		t.Errorf("kills: got %d, want at least %d: the workflow does not exercise enough", kills.Load(), least)
	}
}

// afterKill resumes after a kill. A run that was killed before its first save does not
// exist, and is started again.
func (s *site) afterKill(parallel int) sitetest.Outcome {
	s.T.Helper()
	return s.Raymond(0, s.afterKillArgs(parallel)...)
}

func (s *site) afterKillArgs(parallel int) []string {
	if !sitetest.Exists(s.StateFile()) {
		return s.CanonicalArgs(parallel)
	}
	return []string{"resume", sitetest.RunID, "--events", "copy.jsonl"}
}

// TestResumeKilledAtItsFailpoints kills the resume too, and the resume of that.
func TestResumeKilledAtItsFailpoints(t *testing.T) {
	t.Parallel()
	want := sitetest.Undisturbed(t, 1)
	for _, m := range []int{1, 2, 4, 5, 7}[:sitetest.Dose(2, 5)] {
		t.Run(fmt.Sprint("resume at ", m), func(t *testing.T) {
			eachFailpoint(t, sitetest.Dose(16, 6), func(t *testing.T, n int) bool {
				s := canonical(t)
				o, killed := s.breakAt(n, s.CanonicalArgs(1)...)
				for again, tries := killed, 0; again && tries < 3; tries++ {
					o, again = s.breakAt(m+tries, s.afterKillArgs(1)...)
				}
				if killed {
					o = s.afterKill(1)
				}
				s.wantLike(o, want)
				return killed
			})
		})
	}
}
