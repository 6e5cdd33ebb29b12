package runner

import (
	"slices"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/state"
)

// TestOnlyScriptsAreToldWhoHasBroughtThemThere, and how often the agent was there.
func TestOnlyScriptsAreToldWhoHasBroughtThemThere(t *testing.T) {
	for _, c := range []struct {
		kind    protocol.Kind
		backend string
		want    bool
	}{{protocol.Script, "", true}, {protocol.Prompt, protocol.BackendClaude, false}, {protocol.Prompt, protocol.BackendCommand, false}} {
		a := &state.Agent{
			ID: "main", State: "S", By: "agent A.md", Visits: map[string]int{"S": 3, "A.md": 7}, Exec: &state.Exec{Running: &state.Invocation{Backend: c.backend}},
		}
		x := invocation{cfg: &Config{}, run: &state.Run{}, agent: a, state: &protocol.State{Kind: c.kind}}
		env := x.environ(ScriptOrder{})
		for _, v := range []string{"RAYMOND_BY=agent A.md", "RAYMOND_VISITS=3"} {
			assert.Check(t, is.Equal(slices.Contains(env, v), c.want), "%s %s: got %q in %v %t, want %t", c.kind, c.backend, v, env, !c.want, c.want)
		}
	}
}
