//go:build linux

package session_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
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
	s.wantToldTwice()
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
