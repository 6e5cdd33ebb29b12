//go:build linux

package session_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
	"github.com/raymond-action/raymond-action/state"
)

// TestKilledWhileAgentsRunInParallel kills a run in which several states are in
// flight: the same work is done, in whatever order.
func TestKilledWhileAgentsRunInParallel(t *testing.T) {
	t.Parallel()
	want := sitetest.Undisturbed(t, 1)
	eachFailpoint(t, sitetest.Dose(16, 4), func(t *testing.T, n int) bool {
		s := canonical(t)
		o, killed := s.breakAt(n, s.CanonicalArgs(3)...)
		if killed {
			o = s.afterKill(3)
		}
		s.wantSameWork(o, want)
		return killed
	})
}

// TestKilledAgainAndAgain kills everything at random times, up to five times a
// run, with agents in flight.
func TestKilledAgainAndAgain(t *testing.T) {
	t.Parallel()
	want := sitetest.Undisturbed(t, 1)
	const seed = 20260102
	runs := sitetest.Dose(4, 12)
	random := rand.New(rand.NewPCG(seed, 0))
	var busy atomic.Int32
	t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
		for n := range runs {
			var moments []moment
			for range 5 {
				moments = append(moments, moment{1 + random.IntN(12), time.Duration(random.IntN(30)) * time.Millisecond})
			}
			t.Run(fmt.Sprint(n), func(t *testing.T) {
				t.Parallel()
				s := canonical(t)
				for _, m := range moments {
					if s.killedAt(m, s.afterKillArgs(3)...) {
						busy.Add(s.inFlight())
					}
				}
				s.wantSameWork(s.afterKill(3), want)
			})
		}
	})
	if busy.Load() < int32(runs) {
		t.Errorf("agents in flight when killed: got %d, want at least %d: the kills miss what matters", busy.Load(), runs)
	}
}

// inFlight counts the agents that were running when the run was last saved.
func (s *site) inFlight() int32 {
	s.T.Helper()
	n := int32(0)
	if sitetest.Exists(s.StateFile()) {
		for _, a := range s.Saved().Agents {
			if a.Status == state.Busy {
				n++
			}
		}
	}
	return n
}

// wantSameWork compares a run that was killed and resumed with an undisturbed
// one, apart from the order of what its agents did.
func (s *site) wantSameWork(o sitetest.Outcome, want sitetest.Trace) {
	s.T.Helper()
	got := s.Trace(o)
	if got.Stdout != want.Stdout || !maps.Equal(got.Results, want.Results) {
		s.T.Errorf("got %v\nand results %q\nwant stdout %q and results %q", o, got.Results, want.Stdout, want.Results)
	}
	if d := cmp.Diff(tally(want.Events), tally(got.Events)); d != "" {
		s.T.Errorf("events (-want +got):\n%s", d)
	}
	if d := cmp.Diff(distinct(want.Effects), distinct(got.Effects)); d != "" {
		s.T.Errorf("side effects (-want +got):\n%s", d)
	}
	s.wantWhole()
}

// tally returns how often each kind of thing happened to each agent.
func tally(events []string) map[string]int {
	counts := map[string]int{}
	for _, line := range events {
		var e struct{ Type, Agent, State, Tag, Target string }
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			panic(err)
		}
		counts[strings.Join([]string{e.Type, e.Agent, e.State, e.Tag, e.Target}, " ")]++
	}
	return counts
}

func distinct(lines []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(lines)))
}
