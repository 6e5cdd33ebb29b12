package action

import (
	"testing"

	"github.com/raymond-action/raymond-action/state"
)

// TestAJoinedFailureIsNoResult in the output agents.
func TestAJoinedFailureIsNoResult(t *testing.T) {
	run := &state.Run{Ended: []state.Ending{{Agent: "main_a1", Error: "no such model", Delivered: true}, {Agent: "main", Result: "x"}}}
	const want = `[{"agent":"main_a1","status":"failed","error":"no such model"},{"agent":"main","status":"completed","result":"x"}]`
	if got := agentsOutput(run); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}
