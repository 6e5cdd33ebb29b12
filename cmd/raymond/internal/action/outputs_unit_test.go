package action

import (
	"encoding/json"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/state"
)

// TestJoinedFailureIsAnError checks that the output agents shows an agent as failed if a join has
// delivered its error.
func TestJoinedFailureIsAnError(t *testing.T) {
	run := &state.Run{Ended: []state.Ending{{Agent: "main_a1", Error: "no such model", Delivered: true}, {Agent: "main", Result: "x"}}}
	const want = `[{"agent":"main_a1","status":"failed","error":"no such model"},{"agent":"main","status":"completed","result":"x"}]`
	assert.Check(t, is.Equal(listText(agentsOutput(run)), want))
}

// TestOutputsFit checks that results are cut to the size of outputs that GitHub accepts, each as
// little as possible and never within a secret.
func TestOutputsFit(t *testing.T) {
	mask := func(text string) string { return strings.ReplaceAll(text, "secret", "***") }
	many := make([]agentOutput, 1000)
	for i := range many {
		many[i] = agentOutput{Agent: "main_a", Status: "completed", Result: strings.Repeat("<", 900)}
	}
	for name, c := range map[string]struct {
		result string
		agents []agentOutput
		isCut  bool
	}{
		"small":       {"secret", []agentOutput{{Agent: "main", Result: "secret"}}, false},
		"large":       {strings.Repeat("é", 300<<10), nil, true},
		"two copies":  {strings.Repeat("secret", 400<<10), []agentOutput{{Agent: "main", Result: strings.Repeat("secret", 400<<10)}}, true},
		"many agents": {"short", many, true},
	} {
		values := map[string]string{"result": c.result, "matrix": noMatrix}
		isCut := fitOutputs(values, c.agents, mask)
		var agents []agentOutput
		err := json.Unmarshal([]byte(values["agents"]), &agents)
		if isCut != c.isCut || err != nil || len(agents) != len(c.agents) || sizeOf(values) >= maxOutputs || values["matrix"] != noMatrix || values["result"] == "" {
			t.Errorf("%s: got cut %v, %d bytes, %d agents, %v", name, isCut, sizeOf(values), len(agents), err)
		}
		if isCut && (strings.Contains(values["result"]+values["agents"], "sec") || !strings.HasPrefix(mask(c.result), values["result"])) {
			t.Errorf("%s: got the result %.40q, want a beginning of the result without secrets", name, values["result"])
		}
	}
}
