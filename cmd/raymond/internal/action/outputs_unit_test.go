package action

import (
	"encoding/json"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
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

// TestKeyAdviceIsForMissingCredentials checks that only a run that failed because of missing or
// refused credentials gets advice about them.
func TestKeyAdviceIsForMissingCredentials(t *testing.T) {
	for _, tt := range []struct {
		backend string
		fault   string
		given   string // input
		want    string
	}{
		{"claude", "authentication: Not logged in · Please run /login", "openai-api-key", "the inputs anthropic-api-key and claude-code-oauth-token are empty"},
		{"claude", "authentication: the API refused the credentials with status 401", "claude-code-oauth-token", "refused the credentials: check the secret passed as anthropic-api-key or"},
		{"codex", "authentication: no", "anthropic-api-key", "the input openai-api-key is empty"},
		{"gemini", "authentication: no", "gemini-api-key", "check the secret passed as gemini-api-key"},
		{"command", "authentication: no", "", ""},
		{"claude", "exit code 1: authentication: no", "", ""},
		{"claude", "", "", ""},
	} {
		run := &state.Run{Agents: []*state.Agent{{ID: "main"}, {ID: "main_a"}}, Options: state.Options{Backend: tt.backend}}
		if tt.fault != "" {
			run.Agents[1].Failure = &state.AgentFailure{Message: tt.fault}
		}
		given := job.Settings{ModelKeys: map[string]string{tt.given: "k"}}
		if got := keyAdvice(run, given, nil); !strings.Contains(got, tt.want) || (got == "") != (tt.want == "") {
			t.Errorf("advice on %q, key given as %q: got %q, want %q in it", tt.fault, tt.given, got, tt.want)
		}
	}
}
