package state_test

import (
	"slices"
	"testing"

	"github.com/raymond-action/raymond-action/state"
)

// TestExecNumbersOfAnOldLog: a log without numbers is numbered as the run itself counted: an
// execution that was cut off and run again keeps its number, one that failed does not.
func TestExecNumbersOfAnOldLog(t *testing.T) {
	event := func(agent, st string, exec int, b state.Body) state.Event {
		return state.Event{Agent: agent, State: st, Exec: exec, Body: b}
	}
	log := []struct {
		event state.Event
		want  int
	}{
		{event("", "", 0, &state.RunStarted{}), 0},
		{event("main", "A.md", 0, &state.StateStarted{}), 1},
		{event("main", "A.md", 0, &state.Reminder{}), 1},
		{event("main", "A.md", 0, &state.StateFinished{OK: true}), 1},
		{event("main", "A.md", 0, &state.Transition{}), 1},
		{event("main_b1", "B.md", 0, &state.AgentStarted{}), 0},
		{event("main_b1", "B.md", 0, &state.StateStarted{}), 2},
		{event("main", "C.md", 0, &state.StateStarted{}), 3},
		{event("", "", 0, &state.RunStarted{Resumed: true}), 0},
		{event("main_b1", "B.md", 0, &state.AttemptInterrupted{}), 2},
		{event("main_b1", "B.md", 0, &state.StateStarted{}), 2},
		{event("main", "C.md", 0, &state.StateFinished{}), 3},
		{event("main", "C.md", 0, &state.StateStarted{}), 4},
		{event("main_b1", "B.md", 0, &state.NodeAttempt{}), 2},
		{event("main_b1", "B.md", 0, &state.Limit{Which: "agents"}), 0},
		// From here on a newer program writes the log.
		{event("main_b1", "B.md", 2, &state.StateFinished{OK: true}), 2},
		{event("main", "D.md", 5, &state.StateStarted{}), 5},
		{event("main", "D.md", 5, &state.Limit{Which: "depth"}), 5},
		{event("main_b1", "E.md", 0, &state.StateStarted{}), 6},
	}
	var numbers state.ExecNumbers
	var got, want []int
	for _, l := range log {
		got, want = append(got, numbers.Of(l.event)), append(want, l.want)
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}
