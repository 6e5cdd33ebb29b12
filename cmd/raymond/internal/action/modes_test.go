//go:build linux

package action_test

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
)

// TestOtherModesStartNoAgent checks that lint, diagram and simulate run the commands of these
// names, and store nothing.
func TestOtherModesStartNoAgent(t *testing.T) {
	t.Parallel()
	s := newScene(t, threeScripts+"-- replies.yaml --\nstates: {}\n")
	for _, test := range []struct{ inputs, args []string }{
		{[]string{"mode", "lint", "agent", "codex"}, []string{"lint", "wf", "--format=github", "--agent=codex"}},
		{[]string{"mode", "diagram"}, []string{"diagram", "wf"}},
		{[]string{"mode", "simulate", "replies", "replies.yaml", "budget", "1"}, []string{"simulate", "wf", "--replies=replies.yaml", "--budget=1"}},
	} {
		j := s.job(1, test.inputs...)
		j.do(0).WantOutputs(t, "error-class", "", "workflow-id", "")
		assert.Assert(t, is.Len(j.tools, 1), "%q", test.inputs)
		assert.Assert(t, is.DeepEqual(j.tools[0].Args, test.args), "%q", test.inputs)
		env := strings.Join(j.tools[0].Environ, " ")
		if !strings.Contains(env, "PATH=") || strings.Contains(env, "INPUT_") || strings.Contains(env, "TOKEN") {
			t.Errorf("%q: environment: got %q, want that of scripts", test.inputs, env)
		}
	}
	assert.Check(t, is.Len(s.forge.All(), 0), "artifacts")
	s.wantDone("")
}
