package report

import (
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/state"
)

// TestResumedRunHidesOldFailures checks that while a resumed run is active, failures in earlier
// segments are not shown.
func TestResumedRunHidesOldFailures(t *testing.T) {
	failed := []state.Body{
		&state.RunStarted{}, &state.StateStarted{Kind: "prompt", Attempt: 1}, &state.StateFinished{Error: "broken pipe"}, &state.AgentFinished{Error: "broken pipe"},
		&state.RunFinished{Status: state.Failed, Reason: "agent main in state A.md: broken pipe"}, &state.Checkpoint{Error: "no such service"},
	}
	again := &state.RunStarted{Resumed: true}
	for name, more := range map[string][]state.Body{"not resumed": nil, "when it begins": {again}, "at work": {again, &state.StateStarted{Kind: "prompt", Attempt: 1}}} {
		var p page
		s := NewSummary(NewLiveModel(), SummaryOptions{Write: p.write})
		for i, body := range slices.Concat(failed, more) {
			e := state.Event{Seq: i + 1, Time: nine, Body: body}
			switch body.(type) {
			case *state.StateStarted, *state.StateFinished, *state.AgentFinished:
				e.Agent, e.State = "main", "A.md"
			}
			report(t, s, e)
		}
		must(t, s.write())
		for what, got := range map[string]bool{"the comment": strings.Contains(s.Overview(), "broken pipe"), "the page": strings.Contains(p.text, "no such service")} {
			assert.Check(t, is.Equal(got, more == nil), "%s: the old failure on %s", name, what)
		}
	}
}
