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

// TestFilesOfARerunAreDated: a snapshot follows prompts alone, and not each of them.
func TestFilesOfARerunAreDated(t *testing.T) {
	for exec, want := range map[int]string{
		0: "the files of /w are as they were when the run began: what has changed since is not in them, since no snapshot was taken after the prompts of state executions 1, 4",
		2: "the files of /w are as they were after state execution 2: what has changed since is not in them, since no snapshot was taken after the prompts of state executions 4",
		4: "the files of /w are as they were after state execution 4: what scripts have changed since is not in them",
		5: "the files of /w are as they were after state execution 5",
	} {
		one := workspace.Snapshot{Dir: "/w", Exec: exec}
		all := []workspace.Snapshot{{Dir: "/w", Exec: 2}, {Dir: "/beside", Exec: 3}, one}
		got := FilesOf(Point{Exec: 6, Prompts: []int{1, 2, 3, 4}}, all, one)
		assert.Check(t, is.Equal(got, want), "snapshot after %d", exec)
	}
}
