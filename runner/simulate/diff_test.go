package simulate_test

import (
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/runner/simulate"
	"github.com/raymond-action/raymond-action/state"
)

// pathDiff compares the path of a run with an expected one.
func pathDiff(want, got []string) []string {
	m := &report.Model{Ending: &state.RunFinished{Status: state.Completed}}
	for _, st := range got {
		m.Executions = append(m.Executions, &report.Exec{Agent: "main", State: st})
	}
	return (&simulate.Expect{Path: simulate.Path{"main": want}}).Diff(m)
}

// TestDifferencesOfPaths shows each difference with what is around it.
func TestDifferencesOfPaths(t *testing.T) {
	for _, c := range []struct{ want, got, diff string }{
		{"A B C", "A B C", ""},
		{"A B C", "A C", "  A,- B,  C"},
		{"A C", "A B C", "  A,+ B,  C"},
		{"A", "", "- A"},
		{"A B", "B A", "- A,- B,+ B,+ A"},
		{"A A A A A A B", "A A A A A A C", "  (3 more that are the same),  A,  A,  A,- B,+ C"},
		{"X A A A A A A A A Y", "Z A A A A A A A A Y", "- X,+ Z,  A,  A,  A,  (6 more that are the same)"},
	} {
		got := pathDiff(strings.Fields(c.want), strings.Fields(c.got))
		if len(got) > 0 {
			got = got[1:]
		}
		if shown := strings.Join(got, ","); shown != c.diff {
			t.Errorf("%q and %q: got %q, want %q", c.want, c.got, shown, c.diff)
		}
	}
}
