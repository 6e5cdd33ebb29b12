//go:build linux

package action_test

import (
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
)

// nobodyWaits are the outputs that later jobs decode when no agent waits.
var nobodyWaits = []string{"next-jobs", "[]", "waiting", "[]", "matrix", `{"include":[]}`}

// TestWhatLaterJobsDecodeIsAlwaysThere, however the step ends: fromJSON(”) is an
// error of the workflow.
func TestWhatLaterJobsDecodeIsAlwaysThere(t *testing.T) {
	t.Parallel()
	s := newScene(t, heldScripts+"-- fail/START.sh --\nexit 1\n")
	on := func(run int64, login string, inputs ...string) *bareJob {
		return s.job(run, inputs...).on("issue_comment", event(person(login)))
	}
	on(1, "eve").do(problem.ExitCodes[problem.ClassDenied]).wantOutputs(t, nobodyWaits...)
	on(2, "eve", "on-denied", "skip").do(0).wantOutputs(t, nobodyWaits...)
	on(3, "ann", "budget", "much").do(problem.ExitCodes[problem.ClassUsage]).wantOutputs(t, nobodyWaits...)
	on(4, "ann", "workflow", "fail", "max-retries", "0", "key", "f").do(problem.ExitCodes[problem.ClassRunFailed]).wantOutputs(t, nobodyWaits...)
	j := s.job(5)
	c := j.start()
	c.Until("the script", func() bool { return strings.Contains(s.done(), "held") })
	c.Kill()
	j.site.KillAll()
	j.end(c).wantOutputs(t, append(nobodyWaits, "status", "")...)
}

// TestAStepOfAJobNamesAKey: the default key is that of one job alone.
func TestAStepOfAJobNamesAKey(t *testing.T) {
	t.Parallel()
	s := newScene(t, threeScripts)
	e := s.job(1, "job", "publish").do(problem.ExitCodes[problem.ClassUsage])
	e.wantOutputs(t, append(nobodyWaits, "error-class", "usage")...)
	e.wantSays(t, "error", "input key", "is missing", "all jobs of the run")
	s.wantDone("")
	s.job(2, "job", "main", "key", "k").do(0).wantOutputs(t, "status", "completed")
}

// TestPromptsAreRefused by a step with prompts: false: the one that the run is at, before
// anything starts, and one to which a script leads. The agent CLI is never asked, and no
// model key is needed.
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
	at.wantOutputs(t, append(nobodyWaits, "error-class", "denied")...)
	at.wantSays(t, "error", "denied", "START.md", "prompts: false")
	s.wantDone("")
	led := s.job(2, "prompts", "false", "key", "b", "workflow", "wf/TELL.sh").set("RUNNER_ENVIRONMENT", "github-hosted").do(denied)
	led.wantOutputs(t, "error-class", "denied", "status", "failed")
	led.wantSays(t, "error", "denied", "START.md", "prompts: false")
	s.wantDone("told")
	allowed := s.job(3, "prompts", "true", "key", "c", "max-iterations", "1")
	allowed.wrapped("")
	allowed.do(problem.ExitCodes[problem.ClassOverLimit])
	if !strings.Contains(s.done(), `"text":"asked"`) {
		t.Errorf("with prompts: got %q, want the agent asked", s.done())
	}
}
