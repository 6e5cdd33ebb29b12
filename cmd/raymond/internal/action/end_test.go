//go:build linux

package action_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/artifacts/artifactstest"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
)

// TestPostReportsARunItCannotStore checks that if inputs have changed since the main phase, the
// post phase fails with an error and the run stays on the machine.
func TestPostReportsARunItCannotStore(t *testing.T) {
	t.Parallel()
	s := newForgeScene(t, waiting)
	j := s.job(541)
	c := j.start()
	c.Until("the script", func() bool { return s.done() == "reached" })
	c.Kill()
	j.with("budget", "NaN")
	if e := j.end(j.command("action-post")); e.Code != problem.ExitCodes[problem.ClassUsage] || !strings.Contains(e.Stderr, "input budget") {
		t.Errorf("post: got %v, want the fault of the input", e)
	}
	assert.Check(t, sitetest.Exists(j.StepDir()), "after a post phase that has stored nothing: got the run removed")
}

// TestSlowGitDoesNotDelayTheStep checks that the step ends soon after a signal although git matches
// an agent's pattern for hours.
func TestSlowGitDoesNotDelayTheStep(t *testing.T) {
	t.Parallel()
	s := newGitScene(t, "-- wf/START.sh --\nmkdir -p d/e; touch d/e/$(printf 'a%.0s' {1..250})c; echo \"$PATTERN\" > d/e/.gitignore; mkfifo d/.gitignore; echo '<result>x</result>'\n")
	s.memory = nil
	j := s.job(542).set("PATTERN", strings.Repeat("*a", 24)+"*b").with("env", "PATTERN")
	c, pipe := j.start(), filepath.Join(j.Work, "d/.gitignore")
	c.Until("the script", func() bool { return sitetest.Exists(pipe) })
	assert.NilError(t, os.WriteFile(pipe, nil, 0)) // returns when git reads the pipe
	c.Signal(syscall.SIGINT)
	j.end(c)
	assert.Check(t, len(s.checkpoints()) == 0, "got a checkpoint, want that git was killed before it had one")
}

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

func (s *scene) letGo() {
	s.t.Helper()
	assert.NilError(s.t, os.WriteFile(s.effects+".go", nil, 0o600))
}

// TestOnlyOneOfTwoJobsSpends checks that, of two jobs that begin at the same time, only one runs a
// prompt. The other job fails at once, stores nothing, also in its post phase, and is not
// resumable. Package slots tests services that replace artifacts of the same name.
func TestOnlyOneOfTwoJobsSpends(t *testing.T) {
	t.Parallel()
	s := newForgeScene(t, spending)
	rival := func(job string) *bareJob {
		return s.job(1, "key", "shared").set("GITHUB_JOB", job, "RUNNER_NAME", job, "ACTIONS_RUNTIME_TOKEN", artifactstest.JobToken(1, job))
	}
	jobs := []*bareJob{rival("one"), rival("two")}
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
	for _, part := range []string{"shared", jobs[1-loser].Env["GITHUB_JOB"], "actions: read"} {
		assert.Check(t, is.Contains(e.Stderr, part), "stderr")
	}
	assert.Check(t, is.Equal(strings.Count(s.done(), "asked"), 1), "prompts that ran")
	before := len(s.forge.All())
	jobs[loser].post()
	assert.Check(t, is.Len(s.forge.All(), before), "after its post part")
	s.letGo()
	jobs[1-loser].end(started[1-loser]).WantOutputs(t, "status", "completed", "result", "done")
	assert.Check(t, is.Len(s.stored("-claim"), 0), "claims in the end")
}
