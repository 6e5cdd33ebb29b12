package simulate_test

import (
	"os"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
	"gotest.tools/v3/golden"

	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/runner/simulate"
	"github.com/raymond-action/raymond-action/state"
)

// TestPublishedSchema checks that docs/schema/replies.schema.json is a copy of the schema that Read
// uses.
func TestPublishedSchema(t *testing.T) {
	data, err := os.ReadFile("replies.schema.json")
	assert.NilError(t, err)
	golden.Assert(t, string(data), "../../../docs/schema/replies.schema.json")
}

// TestPathDiff checks the lines in which Diff reports the differences between two paths.
func TestPathDiff(t *testing.T) {
	for _, c := range []struct{ want, got, diff string }{
		{"A B C", "A B C", ""},
		{"A B C", "A C", "  (the same: 1 before, 1 after),- B"},
		{"A C", "A B C", "  (the same: 1 before, 1 after),+ B"},
		{"A", "", "- A"},
		{"A B", "B A", "- A,- B,+ B,+ A"},
		{"A A B", "A A A B", "  (the same: 2 before, 1 after),+ A"},
	} {
		m := &report.Model{Ending: &state.RunFinished{Status: state.Completed}}
		for _, st := range strings.Fields(c.got) {
			m.Executions = append(m.Executions, &report.Exec{Agent: "main", State: st})
		}
		got := (&simulate.Expect{Path: simulate.Path{"main": strings.Fields(c.want)}}).Diff(m)
		if len(got) > 0 {
			got = got[1:]
		}
		assert.Check(t, is.Equal(strings.Join(got, ","), c.diff), "%q and %q", c.want, c.got)
	}
}
