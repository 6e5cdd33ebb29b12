//go:build linux

package action_test

import (
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
)

// TestOtherModesStartNoAgent: lint, diagram and simulate do what the commands of
// these names do, and store nothing.
func TestOtherModesStartNoAgent(t *testing.T) {
	t.Parallel()
	s := newScene(t, threeScripts+"-- broken/START.md --\n---\nmodel: [\n---\nhello\n-- ask/START.md --\nask\n"+
		"-- ask/END.sh --\nenv >\"$EFFECTS\"; echo '<result>simulated</result>'\n-- replies.yaml --\nstates:\n  START.md: [{text: \"<goto>END.sh</goto>\"}]\n")
	for _, test := range []struct {
		inputs []string
		code   int
		class  string
		want   string // in the log, a command or the summary
	}{
		{[]string{"mode", "lint"}, 0, "", ""},
		{[]string{"mode", "lint", "workflow", "broken"}, problem.ExitCodes[problem.ClassWorkflow], "workflow", "file=broken/START.md,line="},
		{[]string{"mode", "diagram"}, 0, "", "flowchart"},
		{[]string{"mode", "simulate", "workflow", "ask", "replies", "replies.yaml", "budget", "1"}, 0, "", "simulated"},
		{[]string{"mode", "simulate", "workflow", "ask", "replies", "none.yaml"}, problem.ExitCodes[problem.ClassUsage], "usage", "none.yaml"},
	} {
		e := s.job(1, test.inputs...).do(test.code)
		e.wantOutputs(t, "error-class", test.class, "workflow-id", "")
		if said := e.Stdout + e.Stderr + e.summary; !strings.Contains(said, test.want) {
			t.Errorf("%q: got %q, want something about %q", test.inputs, said, test.want)
		}
	}
	if seen := s.done(); !strings.Contains(seen, "PATH=") || strings.Contains(seen, "INPUT_") || strings.Contains(seen, "TOKEN") {
		t.Errorf("environment of a simulated run's script: got %q, want that of scripts", seen)
	}
	if got := s.forge.All(); len(got) > 0 {
		t.Errorf("artifacts: got %d, want none", len(got))
	}
}
