//go:build linux

package action_test

import (
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/artifacts/artifactstest"
	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
)

// nobodyWaits has the outputs that later jobs decode if no agent waits.
var nobodyWaits = []string{"next-jobs", "[]", "waiting", "[]", "matrix", `{"include":[]}`}

// TestOutputsForLaterJobsAreAlwaysSet checks that the outputs for later jobs are set however the
// step ends, because fromJSON of an empty text is an error of the workflow.
func TestOutputsForLaterJobsAreAlwaysSet(t *testing.T) {
	t.Parallel()
	s := newForgeScene(t, waiting+"-- fail/START.sh --\nexit 1\n")
	on := func(run int64, login string, inputs ...string) *bareJob {
		return s.job(run, inputs...).on("issue_comment", event(person(login)))
	}
	on(1, "eve").do(problem.ExitCodes[problem.ClassDenied]).WantOutputs(t, nobodyWaits...)
	on(2, "eve", "on-denied", "skip").do(0).WantOutputs(t, nobodyWaits...)
	on(3, "ann", "budget", "much").do(problem.ExitCodes[problem.ClassUsage]).WantOutputs(t, nobodyWaits...)
	on(4, "ann", "workflow", "fail", "args", "--max-retries=0", "key", "f").do(problem.ExitCodes[problem.ClassRunFailed]).WantOutputs(t, nobodyWaits...)
	j := s.job(5)
	c := j.start()
	c.Until("the script", func() bool { return strings.Contains(s.done(), "reached") })
	c.Kill()
	j.end(c).WantOutputs(t, append(nobodyWaits, "status", "")...)
}

// TestPromptsAreRefused checks that a step with prompts: false refuses a prompt state, before
// anything starts if the run is at it, and otherwise when a script leads to it. No agent CLI is
// started, and no model key is needed.
func TestPromptsAreRefused(t *testing.T) {
	t.Parallel()
	s := newScene(t, `-- wf/START.md --
log: asked
reply:
<goto>TELL.sh</goto>
end.
-- wf/TELL.sh --
echo told >>"$EFFECTS"; echo '<goto>START</goto>'
`)
	denied := problem.ExitCodes[problem.ClassDenied]
	at := s.job(1, "prompts", "false", "key", "a").set("RUNNER_ENVIRONMENT", "github-hosted").do(denied)
	at.WantOutputs(t, append(nobodyWaits, "error-class", "denied")...)
	at.WantAnnotation(t, "error", "denied", "START.md", "prompts: false")
	s.wantDone("")
	led := s.job(2, "prompts", "false", "key", "b", "workflow", "wf/TELL.sh").set("RUNNER_ENVIRONMENT", "github-hosted").do(denied)
	led.WantOutputs(t, "error-class", "denied", "status", "failed")
	led.WantAnnotation(t, "error", "denied", "START.md", "prompts: false")
	s.wantDone("told")
	allowed := s.job(3, "prompts", "true", "key", "c", "max-iterations", "1")
	allowed.do(problem.ExitCodes[problem.ClassOverLimit])
	assert.Check(t, is.Contains(s.done(), `"text":"asked"`), "with prompts: want the agent asked")
}

// handed is a workflow whose last state runs in the job publish.
const handed = `-- wf/START.sh --
echo start >>"$EFFECTS"; echo '<goto>PUBLISH</goto>'
-- wf/PUBLISH.sh --
# raymond: job=publish
echo published >>"$EFFECTS"; echo '<result>published</result>'
`

// other returns another job of a workflow run, on another machine, which only resumes.
func (s *scene) other(run int64, name string, inputs ...string) *bareJob {
	s.t.Helper()
	inputs = append([]string{"key", "k", "job", name, "resume", "require", "prompts", "false"}, inputs...)
	return s.job(run, inputs...).set("GITHUB_JOB", name, "RUNNER_NAME", name, "ACTIONS_RUNTIME_TOKEN", artifactstest.JobToken(run, name))
}

// asksOfRuns returns the requests about runs and artifacts that the REST API got.
func (s *scene) asksOfRuns() []string {
	return slices.DeleteFunc(s.forge.AllRequests(), func(path string) bool { return !strings.Contains(path, "/actions/") })
}

// TestNextJobContinuesTheRun checks that the next job of the workflow run finds the run without
// REST and without actions: read. The step that waits only for that job is green and names it.
func TestNextJobContinuesTheRun(t *testing.T) {
	t.Parallel()
	s := newForgeScene(t, handed)
	work := s.job(1, "key", "k").do(0)
	work.WantOutputs(t, "status", "suspended", "resumable", "true", "next-jobs", `["publish"]`, "matrix", `{"include":[{"part":"main","name":"main"}]}`,
		"waiting", `[{"agent":"main","for":"job","job":"publish"}]`)
	assert.Check(t, is.Contains(work.Summary, "for the job `publish`: `main`"), "summary: want the job that is waited for")
	s.wantDone("start")
	before := len(s.asksOfRuns())
	publish := s.other(1, "publish", "github-token", "").do(0)
	publish.WantOutputs(t, append(nobodyWaits, "status", "completed", "result", "published", "iterations", "2", "workflow-id", work.Outputs["workflow-id"])...)
	s.wantDone("start published")
	assert.Check(t, !strings.Contains(publish.Summary+publish.Stdout, "$10"), "a job without prompts has no budget of its own: %v", publish)
	assert.Check(t, is.Len(s.asksOfRuns()[before:], 0), "what the next job asked of the REST API")
	want := &checkpoint.KeyOrigin{Job: "build", Others: []string{"publish"}}
	assert.Check(t, is.DeepEqual(s.newest("k").Manifest.KeyOrigin, want), "whose key the run has")
}
