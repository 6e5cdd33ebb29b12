//go:build linux

package action_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/acttest"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
)

// TestABudgetNeedsAPrice in a job, too: for an agent that tells no dollars nothing starts
// without one, and the error names the input.
func TestABudgetNeedsAPrice(t *testing.T) {
	t.Parallel()
	f, repo := sitetest.NewForge(t), acttest.Repository(t, "-- wf/START.md --\nSay <result>done</result>.\n")
	const says = "input budget: the agent codex tells tokens and no dollars"
	for inputs, isRefused := range map[string]bool{
		"": true, "model mine": true, "model gpt-5.5": false, "budget 0": false, "model mine prices prices.yaml": false,
		"job other": false, "prompts false": false,
	} {
		t.Run(inputs, func(t *testing.T) {
			j := newJob(t, f, repo, 1).with("agent", "codex").with("openai-api-key", "sk-0123456789")
			j.with("codex-path", filepath.Join(t.TempDir(), "nowhere")).with("key", strings.ReplaceAll("key "+inputs, " ", "-"))
			for list := strings.Fields(inputs); len(list) > 0; list = list[2:] {
				j.with(list[0], list[1])
			}
			j.site.Write(filepath.Join(j.work, "prices.yaml"), "prices: {mine: {input: 1, output: 2}}\n")
			e := j.end(j.start())
			if strings.Contains(e.Stderr, says) != isRefused || isRefused && e.Code != problem.ExitCodes[problem.ClassUsage] {
				t.Errorf("got %v, want it refused: %v", e, isRefused)
			}
		})
	}
}
