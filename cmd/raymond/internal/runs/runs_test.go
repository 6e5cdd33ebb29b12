package runs

import (
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/artifacts/workspace"
	"github.com/raymond-action/raymond-action/state"
	"github.com/raymond-action/raymond-action/state/journal"
)

// TestCostsOfAnInterruptedRunAreUnknown checks that the cost of an interrupted invocation counts as
// unknown. A resume adds the known cost later.
func TestCostsOfAnInterruptedRunAreUnknown(t *testing.T) {
	run := &state.Run{
		Progress: state.Progress{Status: state.Running, TotalUSD: state.Dollar},
		Agents: []*state.Agent{
			{ID: "main", Exec: &state.Exec{Running: &state.Invocation{N: 2, Mode: state.Fresh, SessionID: "s"}}},
			{ID: "main_script1", Exec: &state.Exec{Running: &state.Invocation{N: 3}}},
		},
	}
	if l := newListing(run, nil); l.Status != interrupted || l.CostUnknown != 1 {
		t.Errorf("interrupted: got %s with %d unknown costs, want %s with 1", l.Status, l.CostUnknown, interrupted)
	}
	if l := newListing(run, &journal.Driver{}); l.Status != state.Running || l.CostUnknown != 0 {
		t.Errorf("driven: got %s with %d unknown costs, want %s with none", l.Status, l.CostUnknown, state.Running)
	}
}

// TestSnapshotAge checks the text about the age of a snapshot. Later state executions may have no
// snapshot, because scripts get none and a snapshot can fail.
func TestSnapshotAge(t *testing.T) {
	for exec, want := range map[int]string{
		0: "the files of /w are restored as of the start of the run, without the changes of state executions 1 to 3",
		2: "the files of /w are restored as of state execution 2, without the changes of state executions 3 to 3",
		3: "the files of /w are restored as of state execution 3",
	} {
		assert.Check(t, is.Equal(DescribeSnapshotAge(Point{Exec: 4}, workspace.Snapshot{Dir: "/w", Exec: exec}), want), "snapshot after %d, point 4", exec)
	}
}
