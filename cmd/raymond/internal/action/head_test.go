//go:build linux

package action_test

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
)

// onHead returns a job that a pull request event with the given head has started.
func (s *scene) onHead(run int64, head string, inputs ...string) *bareJob {
	s.t.Helper()
	return s.job(run, append([]string{"key", "k"}, inputs...)...).on("pull_request", event(person("ann"), strings.Replace(fromHome, `"ref"`, `"sha":"`+head+`","ref"`, 1)))
}

// TestPushSupersedesUnfinishedRun checks that a run of a new head supersedes an unfinished run.
// Afterwards neither a later job nor the re-run button resumes the old run, but its id does.
func TestPushSupersedesUnfinishedRun(t *testing.T) {
	t.Parallel()
	for _, store := range [][]string{{"store", "artifact"}, {"store", "local", "state-dir", t.TempDir(), "workspace", "none"}} {
		s := newScene(t, handed)
		on := func(run int64, head string, inputs ...string) *bareJob {
			return s.onHead(run, head, append(inputs, store...)...)
		}
		publish := func(run int64, head string) ended { return on(run, head, "job", "publish", "resume", "require").do(0) }
		old := on(1, "head-1").do(0)
		old.WantOutputs(t, "status", "suspended", "next-jobs", `["publish"]`)
		id := old.Outputs["workflow-id"]
		on(2, "head-2", "resume", "require").do(problem.ExitCodes[problem.ClassConflict]).WantAnnotation(t, "error", id, "is superseded")
		next := on(3, "head-2").do(0)
		assert.Check(t, next.Outputs["workflow-id"] != id && strings.Contains(next.Summary, "supersedes run `"+id+"`"), "%v\n%s", next, next.Summary)
		late := publish(1, "head-1")
		late.WantOutputs(t, "status", "skipped")
		late.WantAnnotation(t, "notice", id, "superseded by", next.Outputs["workflow-id"])
		assert.Check(t, strings.HasPrefix(late.Summary, "## ⏭️ Skipped") && strings.Contains(late.Summary, "was superseded by run"), late.Summary)
		publish(3, "head-2").WantOutputs(t, "status", "completed", "workflow-id", next.Outputs["workflow-id"])
		s.forge.Tips[7] = "head-2"
		on(4, "head-1").set("GITHUB_RUN_ATTEMPT", "2", "GITHUB_TRIGGERING_ACTOR", "ann").do(0).WantAnnotation(t, "notice", "nothing is started", "head-2")
		s.wantDone("start start published")
		on(5, "head-1", "resume", id, "job", "publish").do(0).WantOutputs(t, "status", "completed")
	}
}

// TestCommitsOfTheRunDontSupersedeIt checks that an event about a commit that the run has created
// does not supersede the run, even if the commit is not the newest.
func TestCommitsOfTheRunDontSupersedeIt(t *testing.T) {
	t.Parallel()
	const commits = `-- wf/START.sh --
for i in 1 2; do git -c user.name=a -c user.email=a@b commit -q --allow-empty -m $i; git rev-parse HEAD >>"$EFFECTS"; done; echo '<goto after="1h">END.sh</goto>'
-- wf/END.sh --
echo '<result>done</result>'
`
	for _, store := range [][]string{{"store", "artifact"}, {"store", "local", "state-dir", t.TempDir()}} {
		s := newGitScene(t, commits)
		first := s.onHead(1, "head-1", store...).do(0)
		for _, own := range strings.Fields(s.done()) {
			s.onHead(2, own, store...).do(0).WantOutputs(t, "status", "suspended", "workflow-id", first.Outputs["workflow-id"])
		}
		s.onHead(3, sitetest.CommitOf(t, s.repo), append(store, "resume", "require")...).do(problem.ExitCodes[problem.ClassConflict])
		assert.Check(t, is.Len(strings.Fields(s.done()), 2))
	}
}
