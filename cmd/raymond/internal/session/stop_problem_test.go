package session

import (
	"testing"
	"time"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/state"
)

// TestStopProblem checks the error for each way in which a run can stop before it is completed: its text
// and its exit code.
func TestStopProblem(t *testing.T) {
	failed := func(class state.Class) []*state.Agent {
		return []*state.Agent{{ID: "main", State: "A.sh", Failure: &state.AgentFailure{Class: string(class), Message: "why"}}}
	}
	for name, c := range map[string]struct {
		run  state.Run
		code int
		want string
	}{
		"budget": {state.Run{Progress: state.Progress{Status: state.OverBudget, Reason: "spent", TotalUSD: 2 * state.Dollar}}, 3,
			"over_limit: w: spent; to resume with a larger budget: raymond resume w --budget 3"},
		"iterations": {state.Run{Progress: state.Progress{Status: state.OverIterations, Reason: "begun", Iterations: 5}}, 3,
			"over_limit: w: begun; to resume with a larger limit: raymond resume w --max-iterations 6"},
		"usage limit": {state.Run{Progress: state.Progress{Status: state.Suspended, Reason: "a limit", Until: time.Unix(0, 0)}}, 10,
			"suspended: w: a limit (until 1970-01-01 00:00 UTC); to resume from 1970-01-01 00:00 UTC on: raymond resume w"},
		"signal": {state.Run{Progress: state.Progress{Status: state.Cancelled, Reason: "SIGINT"}}, 130,
			"cancelled: w: stopped by SIGINT; to resume: raymond resume w"},
		"failure": {state.Run{Progress: state.Progress{Status: state.Failed, Reason: "why"}, Agents: failed(state.Fatal)}, 1,
			"run_failed: w: why; fix the cause, then: raymond resume w"},
		"machine": {state.Run{Progress: state.Progress{Status: state.Failed, Reason: "why"}, Agents: failed(state.Machine)}, 9,
			"runtime: w: why; fix the cause, then: raymond resume w"},
		"denied": {state.Run{Progress: state.Progress{Status: state.Failed, Reason: "why"}, Agents: append(failed(state.Machine), failed(state.Denied)...)},
			problem.ExitCodes[problem.ClassDenied], "denied: w: why; fix the cause, then: raymond resume w"},
	} {
		c.run.WorkflowID = "w"
		if got := StopProblem(&c.run, ""); got.ExitCode() != c.code || got.Error() != c.want {
			t.Errorf("%s: got %q with exit code %d, want %q with %d", name, got, got.ExitCode(), c.want, c.code)
		}
	}
}
