//go:build linux

package action_test

import (
	"slices"
	"strings"
	"testing"
)

// TestOtherModesStartNoAgent: lint, diagram and simulate do what the commands of
// these names do, and store nothing.
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
		if len(j.tools) != 1 || !slices.Equal(j.tools[0].Args, test.args) {
			t.Fatalf("%q: got the commands %+v, want %q", test.inputs, j.tools, test.args)
		}
		env := strings.Join(j.tools[0].Environ, " ")
		if !strings.Contains(env, "PATH=") || strings.Contains(env, "INPUT_") || strings.Contains(env, "TOKEN") {
			t.Errorf("%q: environment: got %q, want that of scripts", test.inputs, env)
		}
	}
	if got := s.forge.All(); len(got) > 0 {
		t.Errorf("artifacts: got %d, want none", len(got))
	}
	s.wantDone("")
}
