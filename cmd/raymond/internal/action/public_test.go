//go:build linux

package action_test

import (
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/artifacts/artifactstest"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
)

// public is a job in a repository that anybody may read.
func (s *scene) public(run int64, inputs ...string) *bareJob {
	j := s.job(run, inputs...)
	j.payload = "{" + inPublic + "}"
	j.wrapped("")
	return j
}

// lateAgent is a workflow whose deadline, of 10 seconds, comes after its first agent has
// spoken: a busy machine takes seconds to it. Nothing waits for that once it is let go.
const lateAgent = `-- wf/START.md --
reply:
<goto>WAIT.sh</goto>
end.
-- wf/WAIT.sh --
[ -e "$EFFECTS.go" ] || sleep 10; echo '<goto>END.md</goto>'
-- wf/END.md --
log: end
reply:
<result>all done</result>
end.
`

// TestWithoutAKeyNothingIsPromised: a run that nobody could resume does not
// suspend but fails, says so from the start, and leads to no dead end.
func TestWithoutAKeyNothingIsPromised(t *testing.T) {
	t.Parallel()
	s := newScene(t, lateAgent)
	first := s.public(1, "deadline", "10s").do(problem.ExitCodes[problem.ClassRunFailed])
	first.wantOutputs(t, "status", "failed", "resumable", "false", "error-class", "run_failed")
	if told := first.texts("warning"); len(told) != 1 || !strings.Contains(told[0], "state-key") || !strings.Contains(told[0], "it fails") {
		t.Errorf("warnings: got %q, want one from the start that names state-key", told)
	}
	if before, _, _ := strings.Cut(first.Stdout, "START.md"); !strings.Contains(before, "no state-key is set") {
		t.Errorf("log: got %q before the first state, want the warning there", before)
	}
	first.wantSays(t, "error", "it would be suspended", "the deadline of 10s", "state-key")
	s.letGo()
	again := s.public(1).set("GITHUB_RUN_ATTEMPT", "2").do(0)
	again.wantSays(t, "warning", "a new run starts", "transcripts", "state-key")
	again.wantOutputs(t, "status", "completed", "resumable", "false")
	if again.outputs["workflow-id"] == first.outputs["workflow-id"] {
		t.Errorf("got run %s again, want a new one", again.outputs["workflow-id"])
	}
}

// TestWithoutAKeyARunMayResumeWithoutConversations, and is suspended then.
func TestWithoutAKeyARunMayResumeWithoutConversations(t *testing.T) {
	t.Parallel()
	s := newScene(t, lateAgent)
	first := s.public(1, "deadline", "10s", "resume-without-transcript", "true").do(0)
	first.wantOutputs(t, "status", "suspended", "resumable", "true")
	s.public(2, "resume-without-transcript", "true").do(0).wantOutputs(t, "status", "completed", "workflow-id", first.outputs["workflow-id"])
}

// TestWithoutAKeyWorkIsMissedToo, also where conversations are not, and scripts on a
// clean tree are not touched by any of this.
func TestWithoutAKeyWorkIsMissedToo(t *testing.T) {
	t.Parallel()
	for _, without := range []string{"false", "true"} {
		t.Run("resume-without-transcript "+without, func(t *testing.T) {
			t.Parallel()
			dirty := newScene(t, strings.Replace(threeScripts, "echo start", "echo made >made.txt; sleep 10; echo start", 1))
			e := dirty.public(1, "deadline", "10s", "resume-without-transcript", without).do(problem.ExitCodes[problem.ClassRunFailed])
			e.wantOutputs(t, "status", "failed", "resumable", "false")
			e.wantSays(t, "error", "work in the workspace", "state-key")
		})
	}
	clean := newScene(t, strings.Replace(threeScripts, "echo start", "sleep 0.4; echo start", 1))
	first := clean.public(1, "deadline", "200ms").do(0)
	first.wantOutputs(t, "status", "suspended", "resumable", "true")
	if told := first.texts("warning"); len(told) > 0 {
		t.Errorf("warnings of scripts on a clean tree: got %q, want none", told)
	}
	clean.public(2).do(0).wantOutputs(t, "status", "completed", "workflow-id", first.outputs["workflow-id"])
}

// TestRunsOfForksPromiseNothing: that they can't be resumed is said from the start.
func TestRunsOfForksPromiseNothing(t *testing.T) {
	t.Parallel()
	s := newScene(t, strings.Replace(threeScripts, "echo start", "sleep 0.4; echo start", 1))
	j := s.job(1, "deadline", "200ms", "trust-checkout", "true").on("pull_request", event(person("ann"), fromFork))
	e := j.do(problem.ExitCodes[problem.ClassRunFailed])
	e.wantOutputs(t, "status", "failed", "resumable", "false")
	e.wantSays(t, "warning", "fork")
	e.wantSays(t, "error", "fork", "it would be suspended")
}

// TestOneWarningSaysAllThatIsLost, before the first state.
func TestOneWarningSaysAllThatIsLost(t *testing.T) {
	t.Parallel()
	s := newScene(t, lateAgent)
	s.letGo()
	s.forge.Fail(artifactstest.Fault{Op: "actions/artifacts", Times: 99, Status: 403})
	e := s.public(1).do(0)
	told := e.texts("warning")
	if len(told) != 1 || !strings.Contains(told[0], "actions: read") || !strings.Contains(told[0], "state-key") {
		t.Errorf("warnings: got %q, want one with both", told)
	}
}
