package runner

import (
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/state"
)

// TestOnlyScriptsGetByAndVisits checks that only scripts get the variables RAYMOND_BY and
// RAYMOND_VISITS, which contain where the agent came from and how often it has visited the state.
func TestOnlyScriptsGetByAndVisits(t *testing.T) {
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

// TestLargeValuesAreFiles checks that scripts get a value in a file if it is too large for a
// variable or contains NUL.
func TestLargeValuesAreFiles(t *testing.T) {
	fits, large := strings.Repeat("x", 64<<10), strings.Repeat("x", 64<<10+1)
	a := &state.Agent{ID: "main", Payload: state.Text(large), Exec: &state.Exec{Running: &state.Invocation{}}, Vars: map[string]string{"fits": fits, "a-b": large}}
	x := invocation{cfg: &Config{}, run: &state.Run{Meta: map[string]string{"nul": "\x00"}}, agent: a, state: &protocol.State{Kind: protocol.Script}}
	s := ScriptOrder{PayloadFile: "/p/1", Files: map[string]string{}}
	env := x.environ(s)
	for _, want := range []string{"RAYMOND_VAR_FITS=" + fits, "RAYMOND_VAR_A_B_FILE=/p/1-A_B", "RAYMOND_VAR_NUL_FILE=/p/1-NUL"} {
		assert.Check(t, slices.Contains(env, want), "%.80s", want)
	}
	assert.Check(t, is.DeepEqual(s.Files, map[string]string{"/p/1-A_B": large, "/p/1-NUL": "\x00"}))
	for _, kv := range env {
		assert.Check(t, len(kv) < 128<<10 && !strings.Contains(kv, "\x00"), "%.80s", kv)
	}
}
