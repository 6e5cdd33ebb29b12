//go:build linux

package action_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
	"github.com/raymond-action/raymond-action/state"
	"github.com/raymond-action/raymond-action/state/journal"
)

// leavesWork is a workflow whose first script creates an uncommitted file and overwrites the second
// script, which must not run in that form.
const leavesWork = `-- wf/START.sh --
echo work >work.txt; echo 'echo "<result>injected</result>"' >wf/END.sh; echo '<goto>END.sh</goto>'
-- wf/END.sh --
echo "<result>$(cat work.txt)</result>"
`

// localJobs returns a job whose run is stored on the machine, and a later step on the same machine.
func (s *scene) localJobs(inputs ...string) (first, second *bareJob) {
	first = s.job(1, append(inputs, "key", "k", "store", "local", "state-dir", s.t.TempDir(), "workflow", filepath.Join(s.repo, "wf"))...)
	second = first.step("later")
	return first, second
}

// checkOut replaces the workspace of a job by a new checkout.
func (s *scene) checkOut(j *bareJob) {
	s.t.Helper()
	assert.NilError(s.t, os.RemoveAll(j.Work))
	assert.NilError(s.t, os.CopyFS(j.Work, os.DirFS(s.repo)))
}

// TestStoreLocalKeepsTheWork checks that a local run continues with its work in a new checkout. The
// main phase saves the work, so that later steps may change the checkout; otherwise the post phase
// saves it. Two runs in a directory have separate work. A checkout with restored work counts as one
// in which agents have worked.
func TestStoreLocalKeepsTheWork(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(j *bareJob, run string) string{
		"main part": func(j *bareJob, _ string) string { return filepath.Join(j.Work, "work.txt") },
		"post part": func(_ *bareJob, run string) string { return filepath.Join(run, "work.json") },
	} {
		s := newGitScene(t, leavesWork)
		first, second := s.localJobs()
		id := first.with("max-iterations", "1").do(problem.ExitCodes[problem.ClassOverLimit]).Outputs["workflow-id"]
		run := filepath.Join(first.Inputs["state-dir"], "o", "r", id)
		assert.NilError(t, os.Remove(change(first, run)))
		first.post()
		s.checkOut(second)
		second.step("other").with("key", "other", "max-iterations", "1").do(problem.ExitCodes[problem.ClassOverLimit])
		s.checkOut(second)
		e := second.with("resume", "require", "cage", "on").do(0)
		e.WantOutputs(t, "workflow-id", id, "result", "work")
		assert.Check(t, !strings.Contains(e.Stdout, "last stored") && sitetest.Exists(filepath.Join(second.Temp, "raymond", "agents.note")), "saved by the %s: got %v, want it restored as it was left, and that noted", name, e)
		folders, _ := filepath.Glob(filepath.Join(run, "workspace-*"))
		assert.Check(t, is.Len(folders, 1), "saved by the %s", name)
	}
}

// TestStoreLocalOverwritesNothing checks that the step fails if a file of the checkout is in the
// way, that neither this file nor the saved work is changed, and that the run continues without the
// work if an input allows it. A notice reports that the work is older than the run.
func TestStoreLocalOverwritesNothing(t *testing.T) {
	t.Parallel()
	s := newGitScene(t, leavesWork)
	first, second := s.localJobs()
	id := first.with("max-iterations", "1").do(problem.ExitCodes[problem.ClassOverLimit]).Outputs["workflow-id"]
	s.checkOut(second)
	work := filepath.Join(first.Inputs["state-dir"], "o", "r", id, "work.json")
	older := strings.Replace(sitetest.Read(t, work), `"seq":2`, `"seq":1`, 1)
	second.Site.Write(work, older)
	own := filepath.Join(second.Work, "work.txt")
	second.Site.Write(own, "own\n")
	e := second.do(problem.ExitCodes[problem.ClassConflict])
	e.WantOutputs(t, "error-class", "conflict")
	e.WantAnnotation(t, "error", "work.txt", "check the repository out again", "workspace: none")
	e.WantAnnotation(t, "notice", "is at step 2, and its work was last stored at step 1")
	second.post()
	assert.Check(t, is.Equal(sitetest.Read(t, own)+sitetest.Read(t, work), "own\n"+older), "the checkout's own file and the saved work: want them unchanged")
	second.step("third").with("workspace", "none").do(0).WantOutputs(t, "result", "own")
}

// TestBadLogDoesNotPreventSaving checks that the post phase saves the work even if it can't write
// the event log.
func TestBadLogDoesNotPreventSaving(t *testing.T) {
	t.Parallel()
	first, _ := newGitScene(t, leavesWork).localJobs()
	id := first.with("max-iterations", "1").do(problem.ExitCodes[problem.ClassOverLimit]).Outputs["workflow-id"]
	run := filepath.Join(first.Inputs["state-dir"], "o", "r", id)
	log := filepath.Join(run, "events.jsonl")
	assert.NilError(t, errors.Join(os.Remove(filepath.Join(run, "work.json")), os.Remove(log), os.Mkdir(log, 0o700)))
	e := first.post()
	assert.Check(t, sitetest.Exists(filepath.Join(run, "work.json")), "got %v, want the work saved", e)
}

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
