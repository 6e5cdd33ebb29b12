//go:build linux

package action_test

import (
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/artifacts/artifactstest"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
)

// lateAgent is a workflow whose deadline passes after its first prompt.
const lateAgent = `-- wf/START.md --
reply:
<goto>WAIT.sh</goto>
end.
-- wf/WAIT.sh --
[ -e "$EFFECTS.go" ] || late; echo '<goto>END.md</goto>'
-- wf/END.md --
log: end
reply:
<result>all done</result>
end.
`

// TestUnresumableRunFailsAtItsDeadline checks that a run that no job could resume fails instead of
// being suspended, warns about it from the start, and does not block later runs.
func TestUnresumableRunFailsAtItsDeadline(t *testing.T) {
	t.Parallel()
	s := newScene(t, lateAgent)
	first := s.job(1, "deadline", "10h").public().do(problem.ExitCodes[problem.ClassRunFailed])
	first.WantOutputs(t, "status", "failed", "resumable", "false", "error-class", "run_failed")
	first.WantAnnotation(t, "warning", "state-key", "fails where it would be suspended")
	assert.Check(t, is.Len(first.Annotations("warning"), 1))
	before, _, _ := strings.Cut(first.Stdout, "START.md")
	assert.Check(t, is.Contains(before, "no state-key is set"), "log")
	first.WantAnnotation(t, "error", "would be suspended", "the deadline of 10h0m0s", "state-key")
	s.letGo()
	again := s.job(1).public().set("GITHUB_RUN_ATTEMPT", "2").do(0)
	again.WantAnnotation(t, "warning", "a new run starts", "transcripts", "state-key")
	again.WantOutputs(t, "status", "completed", "resumable", "false")
	assert.Check(t, again.Outputs["workflow-id"] != first.Outputs["workflow-id"], "got the run again, want a new one")
}

// TestRestoredWorkChangesNoStates checks that edits of state files by agents or scripts are restored
// with other work, but that the states of the checkout run. With workspace: none, no work is
// restored, and the page says so.
func TestRestoredWorkChangesNoStates(t *testing.T) {
	t.Parallel()
	s := newGitScene(t, leavesWork)
	s.stops(1, 1, "key", "work")
	j := s.job(2, "key", "work", "max-iterations", "9")
	j.do(0).WantOutputs(t, "result", "work")
	assert.Check(t, is.Contains(sitetest.Read(t, filepath.Join(j.Work, "wf", "END.sh")), "injected"), "END.sh in the workspace")
	s.stops(3, 1, "key", "none")
	e := s.job(4, "key", "none", "max-iterations", "9", "workspace", "none").do(0)
	e.WantOutputs(t, "result", "")
	assert.Check(t, is.Contains(e.Summary, "The work in the workspace was not restored"), "summary")
}

// TestOneWarningNamesAllLosses checks that a single warning, before the first state, names
// everything that will be lost.
func TestOneWarningNamesAllLosses(t *testing.T) {
	t.Parallel()
	s := newForgeScene(t, lateAgent)
	s.letGo()
	s.forge.Fail(artifactstest.Fault{Op: "actions/artifacts", Times: 99, Status: 403})
	e := s.job(1).public().do(0)
	e.WantAnnotation(t, "warning", "actions: read", "state-key")
	assert.Check(t, is.Len(e.Annotations("warning"), 1))
}

// TestWithoutGitNoWorkIsStored checks that a missing git is reported before a prompt begins, and
// that no later job resumes the run as if it had its files.
func TestWithoutGitNoWorkIsStored(t *testing.T) {
	t.Parallel()
	path := t.TempDir() // has no git
	for _, inputs := range [][]string{nil, {"store", "local", "state-dir", t.TempDir()}} {
		s := newScene(t, agentAtWork+"-- wf/ALONE.sh --\necho '<result>alone</result>'\n")
		inputs = append(inputs, "workspace", "git", "max-iterations")
		j := s.job(1, append(inputs, "2")...).set("PATH", path)
		first := j.do(problem.ExitCodes[problem.ClassOverLimit])
		first.WantAnnotation(t, "warning", "git is not installed", "workspace: none")
		assert.Check(t, is.Len(first.Annotations("warning"), 1))
		first.WantOutputs(t, "resumable", "false")
		first.WantAnnotation(t, "error", "workspace", "resume-without-transcript: true")
		assert.Check(t, is.Contains(first.Summary, "git is not installed"), "summary: want what is missing")
		s.job(2, append(inputs, "9", "resume", "require")...).do(problem.ExitCodes[problem.ClassDenied]).WantAnnotation(t, "error", "stored without its workspace", "was not installed")
		s.job(3, append(inputs, "9", "resume-without-transcript", "true")...).machine(j).do(0).WantOutputs(t, "workflow-id", first.Outputs["workflow-id"])
		scripts := s.job(4, append(inputs, "9", "key", "scripts", "workflow", "wf/ALONE.sh", "prompts", "false")...).set("PATH", path)
		assert.Check(t, is.Len(scripts.end(scripts.start()).Annotations("warning"), 0), "scripts alone: want no warning")
	}
}

// TestFailingJobRepeatsLittle checks how often a failing job says the same: workflow commands are
// stopped once for each block of lines that others wrote, losses are named at the start, and the
// advice is given once each in log, notice, error and page.
func TestFailingJobRepeatsLittle(t *testing.T) {
	t.Parallel()
	s := newScene(t, "-- wf/START.md --\n---\ndone_when: 'echo no; false'\nmax_attempts: 2\nbackoff: none\n---\nreply:\n<result>x</result>\nend.\n")
	e := s.job(1).public().do(problem.ExitCodes[problem.ClassRunFailed])
	for text, want := range map[string][2]int{
		"::stop-commands::": {2, 0}, "state-key": {3, 1}, "can't be resumed": {2, 1},
		"not done after 2 attempts: `echo no; false` ended with exit code 1": {2, 1}, "max_ralph_iters_reached": {0, 1},
	} {
		lines := func(all string) (n int) {
			for line := range strings.Lines(all) {
				if strings.Contains(line, text) {
					n++
				}
			}
			return n
		}
		if got := [2]int{lines(e.Stdout), lines(e.Stderr)}; got != want {
			t.Errorf("%q: got in %d lines of the log and %d errors, want %d:\n%s\n%s", text, got[0], got[1], want, e.Stdout, e.Stderr)
		}
	}
	assert.Check(t, is.Equal(strings.Count(e.Summary, "state-key"), 1), "how often the page names state-key:\n%s", e.Summary)
}

// TestAdvisedResumeTakesTheFix checks that `resume: ID`, with the setting that the advice names,
// completes the run after a fixed script was pushed.
func TestAdvisedResumeTakesTheFix(t *testing.T) {
	t.Parallel()
	s := newGitScene(t, "-- wf/START.sh --\necho x >work.txt; echo '<goto>CHECK.sh</goto>'\n-- wf/CHECK.sh --\nexit 3\n")
	failed := s.job(1, "changed-workflow", "refuse").do(problem.ExitCodes[problem.ClassRunFailed])
	id := failed.Outputs["workflow-id"]
	failed.WantAnnotation(t, "notice", "resume: "+id, "The button uses the files of this commit", "changed-workflow: take")
	sitetest.Commit(t, s.repo, "-- wf/CHECK.sh --\ncat work.txt >&2; echo '<result>fixed</result>'\n")
	s.job(2, "resume", id, "changed-workflow", "refuse").do(problem.ExitCodes[problem.ClassConflict])
	s.job(3, "resume", id, "changed-workflow", "take").do(0).WantOutputs(t, "status", "completed", "result", "fixed")
}
