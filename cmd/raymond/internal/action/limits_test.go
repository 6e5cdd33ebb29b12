//go:build linux

package action_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
	"github.com/raymond-action/raymond-action/state"
	"github.com/raymond-action/raymond-action/state/journal"
)

// freed has the options of a state file in which an agent has removed every limit.
const freed = `"options": {"max_parallel":99,"max_agents":9999,"max_depth":9999,"max_retries":99,"max_reminders":99,"permission_mode":"bypassPermissions",` +
	`"dangerously_skip_permissions":true,"keep_going":true,"model":"planted","allowed_tools":["Bash"],"claude_args":["--planted"]}`

const scriptThenAgent = `-- wf/START.sh --
echo '<goto>END.md</goto>'
-- wf/END.md --
reply:
<result>all done</result>
end.
`

// TestResumedRunHasTheInputsLimits checks that budget, permissions and arguments of a resumed run
// come from the inputs. Agents could have changed an unsigned state file.
func TestResumedRunHasTheInputsLimits(t *testing.T) {
	t.Parallel()
	s := newScene(t, scriptThenAgent)
	dir := t.TempDir()
	local := []string{"store", "local", "state-dir", dir}
	first := s.job(1, append(local, "max-iterations", "1")...).do(problem.ExitCodes[problem.ClassOverLimit])
	id := first.Outputs["workflow-id"]
	path := filepath.Join(dir, "o", "r", id+".json")
	assert.NilError(t, os.WriteFile(path, regexp.MustCompile(`"options": {[^{}]*}`).ReplaceAll([]byte(sitetest.Read(t, path)), []byte(freed)), 0o600))
	assert.Assert(t, is.Contains(sitetest.Read(t, path), freed))
	j := s.job(2, append(local, "max-iterations", "9", "budget", "3.00", "api-tools", "web_search", "anthropic-api-key", modelKey)...)
	j.do(0).WantOutputs(t, "status", "completed", "workflow-id", id)
	assert.Check(t, !j.agents.Proxy.AllowsTool("claude", "code_execution") && j.agents.Proxy.AllowsTool("claude", "web_search"), "what the API may run for agents: want what the input api-tools names alone")
	p := j.prompts[len(j.prompts)-1].Permissions
	if p.PermissionMode != "acceptEdits" || p.SkipPermissions || len(p.AllowedTools)+len(p.DisallowedTools)+len(j.agents.ClaudeArgs) > 0 {
		t.Errorf("what the agent CLI may do: got %+v and the arguments %q, want the default", p, j.agents.ClaudeArgs)
	}
	run, err := journal.Read(filepath.Join(dir, "o", "r"), id)
	assert.NilError(t, err)
	got := run.Options
	if got.BudgetUSD != 3*state.Dollar || got.MaxIterations != 9 || got.MaxParallel != 4 || got.MaxAgents != 256 || got.MaxRetries != 3 || got.Model != "" {
		t.Errorf("options of the resumed run: got %+v, want those of the inputs and the defaults", got)
	}
}
