package runs

import (
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/artifacts/workspace"
	"github.com/raymond-action/raymond-action/state"
)

// TestCostsOfAnInterruptedRunAreUnknown as long as nobody has resumed it, which books
// what was seen of the invocation that was cut off.
func TestCostsOfAnInterruptedRunAreUnknown(t *testing.T) {
	run := &state.Run{
		Progress: state.Progress{Status: state.Running, TotalUSD: state.Dollar},
		Agents: []*state.Agent{
			{ID: "main", Exec: &state.Exec{Running: &state.Invocation{N: 2, Mode: state.Fresh, SessionID: "s"}}},
			{ID: "main_script1", Exec: &state.Exec{Running: &state.Invocation{N: 3}}},
		},
	}
	if l := list(run, nil); l.Status != interrupted || l.CostUnknown != 1 {
		t.Errorf("interrupted: got %s with %d unknown costs, want %s with 1", l.Status, l.CostUnknown, interrupted)
	}
	if l := list(run, &state.Driver{}); l.Status != state.Running || l.CostUnknown != 0 {
		t.Errorf("driven: got %s with %d unknown costs, want %s with none", l.Status, l.CostUnknown, state.Running)
	}
}

// TestFilesOfARerunAreDated: no snapshot follows scripts, nor a prompt whose files could not be kept.
func TestFilesOfARerunAreDated(t *testing.T) {
	for exec, want := range map[int]string{
		0: "the files of /w are as they were when the run began: what state executions 1 to 3 have changed there is not in them",
		2: "the files of /w are as they were after state execution 2: what state executions 3 to 3 have changed there is not in them",
		3: "the files of /w are as they were after state execution 3",
	} {
		assert.Check(t, is.Equal(DescribeSnapshotAge(Point{Exec: 4}, workspace.Snapshot{Dir: "/w", Exec: exec}), want), "snapshot after %d, point 4", exec)
	}
}
