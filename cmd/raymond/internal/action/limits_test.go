//go:build linux

package action_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/raymond-action/raymond-action/artifacts/artifactstest"
	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
	"github.com/raymond-action/raymond-action/state"
)

// freed is a state file of which an agent has taken every limit away.
func freed(t *testing.T, data []byte) []byte {
	t.Helper()
	var run map[string]any
	if err := json.Unmarshal(data, &run); err != nil {
		t.Fatal(err)
	}
	run["options"] = map[string]any{
		"budget_usd": 0, "max_parallel": 99, "max_agents": 9999, "max_depth": 9999, "max_retries": 99, "max_reminders": 99,
		"permission_mode": "bypassPermissions", "dangerously_skip_permissions": true, "keep_going": true, "model": "planted",
		"allowed_tools": []string{"Bash"}, "claude_args": []string{"--planted"}, "idle_timeout": "99h",
	}
	data, err := json.Marshal(run)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

const scriptThenAgent = `-- wf/START.sh --
echo '<goto>END.md</goto>'
-- wf/END.md --
reply:
<result>all done</result>
end.
`

// TestLimitsOfAResumedRunAreThoseOfTheInputs: agents could have written what a state
// file says of budget, permissions and arguments before it was stored where nothing signs it.
func TestLimitsOfAResumedRunAreThoseOfTheInputs(t *testing.T) {
	t.Parallel()
	s := newScene(t, scriptThenAgent)
	first := s.talks(1, "max-iterations", "1").do(problem.ExitCodes[problem.ClassOverLimit])
	forgeCheckpoint(t, s)
	j := s.talks(2, "max-iterations", "9", "budget", "3.00", "api-tools", "web_search", "anthropic-api-key", modelKey)
	j.do(0).WantOutputs(t, "status", "completed", "workflow-id", first.Outputs["workflow-id"])
	if j.agents.Proxy.Allows("claude", "code_execution") || !j.agents.Proxy.Allows("claude", "web_search") {
		t.Error("what the API may run for agents: want what the input api-tools names alone")
	}
	p := j.prompts[len(j.prompts)-1].Permissions
	if p.PermissionMode != "acceptEdits" || p.SkipPermissions || len(p.AllowedTools)+len(p.DisallowedTools)+len(j.agents.ClaudeArgs) > 0 {
		t.Errorf("what the agent CLI may do: got %+v and the arguments %q, want the default", p, j.agents.ClaudeArgs)
	}
	all := s.forge.Checkpoints(t, nil)
	got := all[len(all)-1].Run.Options
	if got.BudgetUSD != 3*state.Dollar || got.MaxIterations != 9 || got.MaxParallel != 4 || got.MaxAgents != 256 || got.MaxRetries != 3 || got.Model != "" {
		t.Errorf("options of the resumed run: got %+v, want those of the inputs and the defaults", got)
	}
}

// forgeCheckpoint replaces the newest checkpoint by one whose state file is freed. It
// is whole: without a key everybody can make one.
func forgeCheckpoint(t *testing.T, s *scene) {
	t.Helper()
	all := s.forge.All()
	last := slices.IndexFunc(all, func(a artifactstest.Stored) bool { return sitetest.IsCheckpoint(a) })
	stored := sitetest.ReadStored(t, all[last], nil)
	r, err := zip.NewReader(bytes.NewReader(all[last].Content), int64(len(all[last].Content)))
	if err != nil {
		t.Fatal(err)
	}
	var parts []checkpoint.Part
	for _, f := range r.File {
		path := filepath.Join(stored.Dir, filepath.FromSlash(f.Name))
		data, err := os.ReadFile(path)
		switch {
		case err != nil || f.Name == "manifest.json":
			continue // not one of the parts
		case f.Name == "state.json":
			data = freed(t, data)
		}
		parts = append(parts, checkpoint.Part{Name: f.Name, Data: data})
	}
	out, err := os.Create(filepath.Join(t.TempDir(), "forged.zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	m := stored.Manifest
	m.Files = nil
	if _, err := checkpoint.Write(out, checkpoint.Writing{Manifest: m, Parts: parts}); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Seek(0, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(out)
	if err != nil {
		t.Fatal(err)
	}
	forged := all[last]
	forged.Content, forged.ID = content, 0
	s.forge.Put(forged)
}
