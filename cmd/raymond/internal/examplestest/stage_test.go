package examplestest

import (
	"os"
	"testing"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/acttest"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
)

func TestMain(m *testing.M) { os.Exit(sitetest.Main(m)) }

// WantStep checks the result of a step's main part, "success" or "failure", and
// some of its outputs, in pairs of name and value; it returns the step.
func WantStep(t testing.TB, r *acttest.Result, job, id, result string, outputs ...string) *acttest.Step {
	t.Helper()
	s := r.Step(job, id)
	if s == nil || s.Result != result {
		t.Fatalf("job %s, step %s: got %s\nwant %s", job, id, Shown(r), result)
	}
	for i := 0; i < len(outputs); i += 2 {
		if got := s.Outputs[outputs[i]]; got != outputs[i+1] {
			t.Errorf("job %s, step %s: output %s: got %q, want %q\n%s", job, id, outputs[i], got, outputs[i+1], Shown(r))
		}
	}
	return s
}
