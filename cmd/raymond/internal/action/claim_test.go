//go:build linux

package action_test

import (
	"os"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/artifacts/artifactstest"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
)

// spending is a workflow that begins with a prompt, which is logged. Its second state waits for a
// file.
const spending = `-- wf/START.md --
log: asked
reply:
<goto>HOLD.sh</goto>
end.
-- wf/HOLD.sh --
until [ -e "$EFFECTS.go" ]; do sleep 0.05; done
echo '<result>done</result>'
`

const sharedKey = "shared"

// rival returns a job that claims the shared key.
func (s *scene) rival(run int64, job string) *bareJob {
	s.t.Helper()
	j := s.job(run, "key", sharedKey).set("GITHUB_JOB", job, "RUNNER_NAME", job)
	return j.set("ACTIONS_RUNTIME_TOKEN", artifactstest.JobToken(run, job))
}

// asked returns how many prompts have run.
func (s *scene) asked() int { return strings.Count(s.done(), "asked") }

func (s *scene) wantAsked(n int) {
	s.t.Helper()
	assert.Check(s.t, is.Equal(s.asked(), n), "agents that were asked")
}

func (s *scene) letGo() {
	s.t.Helper()
	assert.NilError(s.t, os.WriteFile(s.effects+".go", nil, 0o600))
}

// TestOnlyOneOfTwoJobsSpends checks that, of two jobs that begin at the same time, only one runs a
// prompt. The other job fails at once, stores nothing, also in its post phase, and is not
// resumable. Package slots tests services that replace artifacts of the same name.
func TestOnlyOneOfTwoJobsSpends(t *testing.T) {
	t.Parallel()
	s := newScene(t, spending)
	jobs := []*bareJob{s.rival(1, "one"), s.rival(1, "two")}
	started := []*running{jobs[0].start(), jobs[1].start()}
	loser := 0
	select {
	case <-started[0].Done:
	case <-started[1].Done:
		loser = 1
	}
	e := jobs[loser].end(started[loser])
	e.WantOutputs(t, "error-class", "conflict", "resumable", "false", "cost-usd", "0", "state-artifact", "")
	assert.Check(t, is.Equal(e.Code, problem.ExitCodes[problem.ClassConflict]), "second job: got %v, want a conflict", e)
	assert.Check(t, !strings.Contains(e.Stdout, "unknown of"), "second job: got %v, want it known that nothing was spent", e)
	for _, part := range []string{sharedKey, jobs[1-loser].Env["GITHUB_JOB"], "actions: read"} {
		assert.Check(t, is.Contains(e.Stderr, part), "stderr")
	}
	s.wantAsked(1)
	before := len(s.forge.All())
	jobs[loser].post()
	assert.Check(t, is.Len(s.forge.All(), before), "after its post part")
	s.letGo()
	jobs[1-loser].end(started[1-loser]).WantOutputs(t, "status", "completed", "result", "done")
	assert.Check(t, is.Len(s.stored("-claim"), 0), "claims in the end")
}
