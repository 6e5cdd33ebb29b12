//go:build linux

package examplestest

import (
	"testing"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/acttest"
)

// quickstart is a stage without an agent CLI and a key. What is pushed is the
// workflow file alone, or the states too.
func quickstart(t *testing.T, shipped bool) *Stage {
	t.Helper()
	s := New(t, Setup{Example: "quickstart", Shipped: shipped})
	s.Agents.Remove()
	delete(s.Secrets, "ANTHROPIC_API_KEY")
	return s
}

// TestQuickstartIsOneFile: the button adds up the numbers, and the summary shows the
// way there.
func TestQuickstartIsOneFile(t *testing.T) {
	t.Parallel()
	s := quickstart(t, true)
	r := s.Run("workflow_dispatch", jobsDispatch(t, "quickstart", map[string]string{"numbers": "10"}))
	quickstartWants(t, r, "1 + 2 + ... + 10 = 55, and 10 * 11 / 2 is the same")
}

// TestQuickstartWithItsStatesInTheRepository runs when it is pushed, with the
// numbers that the README promises.
func TestQuickstartWithItsStatesInTheRepository(t *testing.T) {
	t.Parallel()
	s := quickstart(t, false)
	r := s.Run("push", jobsPayload(t, map[string]any{"ref": "refs/heads/main", "head_commit": map[string]any{"message": "try it"}}))
	quickstartWants(t, r, "1 + 2 + ... + 300 = 45150, and 300 * 301 / 2 is the same")
}

func quickstartWants(t *testing.T, r *acttest.Result, result string) {
	t.Helper()
	jobsWant(t, r, map[string]string{"quickstart": "success"})
	step := WantStep(t, r, "quickstart", "1", "success",
		"status", "completed", "outcome", "clean", "result", result, "cost-usd", "0", "resumable", "false")
	jobsWantSummary(t, step, "Completed", result, "1_START.sh", "ADD.sh", "WAIT.sh", "CHECK.sh", "REPORT.sh")
	for _, a := range step.Annotations {
		if a.Level != "notice" {
			t.Errorf("annotations: got %+v, want nothing to complain of", a)
		}
	}
}
