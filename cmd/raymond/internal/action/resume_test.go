//go:build linux

package action_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/artifacts/artifactstest"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
	"github.com/raymond-action/raymond-action/state"
)

// threeScripts is a workflow of scripts that don't change the checkout.
const threeScripts = `-- wf/START.sh --
echo start >>"$EFFECTS"; echo '<goto>MIDDLE.sh</goto>'
-- wf/MIDDLE.sh --
echo middle >>"$EFFECTS"; echo '<goto>END.sh</goto>'
-- wf/END.sh --
echo end >>"$EFFECTS"; echo '<result>all done</result>'
`

// agentAtWork is a workflow of two prompts in one conversation, with a script in between that
// creates an uncommitted file.
const agentAtWork = `-- wf/START.md --
reply:
<goto>EDIT.sh</goto>
end.
-- wf/EDIT.sh --
echo work >work.txt; echo '<goto>END.md</goto>'
-- wf/END.md --
log: end
reply:
<result>all done</result>
end.
`

// TestNextWorkflowRunResumes checks that a workflow run continues where the previous one stopped:
// on GitHub and on Gitea, without a state-key in a private repository, and in a public one if
// nothing had to be left out.
func TestNextWorkflowRunResumes(t *testing.T) {
	t.Parallel()
	for gitea, payload := range map[bool]string{false: "{" + inPublic + "}", true: "{" + inPrivate + "}"} {
		s := newForgeScene(t, threeScripts)
		change := func(j *bareJob) *bareJob {
			j.Payload = payload
			if gitea {
				asGitea(j)
			}
			return j
		}
		if gitea {
			s.forge.AsGitea()
		}
		first := change(s.job(1, "max-iterations", "1")).do(problem.ExitCodes[problem.ClassOverLimit])
		first.WantOutputs(t, "status", "over_iterations", "error-class", "over_limit", "resumable", "true", "iterations", "1")
		change(s.job(2, "max-iterations", "2")).do(problem.ExitCodes[problem.ClassOverLimit])
		third := change(s.job(3, "max-iterations", "10", "resume", "require")).do(0)
		third.WantOutputs(t, "status", "completed", "result", "all done", "iterations", "3", "resumable", "false",
			"workflow-id", first.Outputs["workflow-id"])
		s.wantDone("start middle end")
		base := s.newest("agent-build.ref-main").Manifest.Base
		assert.Check(t, base != nil && base.RunID == 2, "gitea: %v: the last checkpoint is based on %+v, want workflow run 2", gitea, base)
		fourth := change(s.job(4)).do(0)
		assert.Check(t, fourth.Outputs["workflow-id"] != first.Outputs["workflow-id"], "after a completed run: got %v, want a new one", fourth.Outputs)
		change(s.job(5, "resume", "require")).do(problem.ExitCodes[problem.ClassUsage]).WantOutputs(t, "error-class", "usage")
	}
}

// TestFollowsExcludesOtherCheckpoints checks that a job with the input follows resumes that
// checkpoint or a later one, and refuses any other. Package slots tests more cases.
func TestFollowsExcludesOtherCheckpoints(t *testing.T) {
	t.Parallel()
	s := newScene(t, threeScripts)
	first := s.stops(1, 1).Outputs["state-digest"]
	second := s.stops(2, 2, "follows", first).Outputs["state-digest"]
	assert.Check(t, first != "" && first != second, "state-digest: got %q and %q", first, second)
	s.stops(3, 1, "key", "other")
	e := s.job(4, "key", "other", "max-iterations", "9", "follows", second).do(problem.ExitCodes[problem.ClassConflict])
	e.WantOutputs(t, "error-class", "conflict", "status", "")
	e.WantAnnotation(t, "error", "resume: never")
	s.job(5, "max-iterations", "9", "follows", "sha256:0").do(problem.ExitCodes[problem.ClassUsage]).WantAnnotation(t, "error", "follows", "state-digest")
	s.wantDone("start middle start")
	s.job(6, "max-iterations", "9", "follows", first).do(0).WantOutputs(t, "status", "completed")
}

// TestStateKeys checks that a sealed checkpoint needs its key, that keys can be rotated, and that
// another key is refused.
func TestStateKeys(t *testing.T) {
	t.Parallel()
	s := newGitScene(t, agentAtWork)
	old, next, foreign := sitetest.NewStateKey(t), sitetest.NewStateKey(t), sitetest.NewStateKey(t)
	s.job(1, "state-key", old, "max-iterations", "2").public().do(problem.ExitCodes[problem.ClassOverLimit])
	for _, test := range []struct {
		key   string
		class problem.Class
		says  string
	}{{"", problem.ClassDenied, "state-key"}, {foreign, problem.ClassBadState, ""}} {
		e := s.job(2, "state-key", test.key, "max-iterations", "9").do(problem.ExitCodes[test.class])
		e.WantOutputs(t, "error-class", string(test.class), "status", "")
		e.WantAnnotation(t, "error", test.says)
	}
	j := s.job(3, "state-key", next+"\n"+old, "max-iterations", "9", "resume", "require")
	j.do(0).WantOutputs(t, "status", "completed", "result", "all done")
	assert.Check(t, is.Equal(sitetest.Read(j.T, filepath.Join(j.Work, "work.txt")), "work\n"), "work.txt: want what the run before it left")
}

// TestRunOfAnotherBranchNeedsASeal checks that a run of another branch is found only if it is
// sealed. Without a seal, the summary names the branch whose runs can find it.
func TestRunOfAnotherBranchNeedsASeal(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"", sitetest.NewStateKey(t)} {
		s := newForgeScene(t, threeScripts)
		inputs := []string{"key", "k", "state-key", key, "max-iterations"}
		topic := s.job(1, append(inputs, "1")...).set("GITHUB_REF", "refs/heads/topic", "GITHUB_REF_NAME", "topic")
		s.forge.ChangeRun(1, func(r *artifactstest.Run) { r.HeadBranch = "topic" })
		first := topic.do(problem.ExitCodes[problem.ClassOverLimit])
		isNamed := strings.Contains(strings.ReplaceAll(first.Summary, "`", ""), "key: k on the branch topic")
		second := s.job(2, append(inputs, "9")...).do(0)
		isFound := second.Outputs["workflow-id"] == first.Outputs["workflow-id"]
		if isSealed := key != ""; isFound != isSealed || isNamed == isSealed {
			t.Errorf("sealed %t: found %t, and the branch was named %t in %s", isSealed, isFound, isNamed, first.Summary)
		}
	}
}

// TestPublicRepositoryStoresNoConversations checks that conversations and workspace are not stored
// in a public repository without a state-key, that the step reports this, and that another machine
// continues with a new conversation only if an input allows it.
func TestPublicRepositoryStoresNoConversations(t *testing.T) {
	t.Parallel()
	s := newGitScene(t, agentAtWork)
	first := s.job(1, "max-iterations", "2").public().do(problem.ExitCodes[problem.ClassOverLimit])
	first.WantOutputs(t, "status", "over_iterations", "resumable", "false")
	first.WantAnnotation(t, "error", "This run can't be resumed", "transcripts and workspace", "resume-without-transcript: true", "state-key")
	last := s.newest("agent-build.ref-main")
	assert.Check(t, is.Equal(fmt.Sprint(last.Manifest.Omissions), "[{transcripts true key} {workspace true key}]"), "left out: want both, which held something")
	for _, name := range []string{"transcripts", "workspace"} {
		assert.Check(t, !sitetest.Exists(filepath.Join(last.Dir, name)), "checkpoint: got the folder %s, want none", name)
	}
	for _, resume := range []string{"require", first.Outputs["workflow-id"]} {
		e := s.job(2, "max-iterations", "9", "resume", resume).public().do(problem.ExitCodes[problem.ClassDenied])
		e.WantOutputs(t, "error-class", "denied", "status", "")
		e.WantAnnotation(t, "error", "state-key", "resume-without-transcript: true", "transcripts and workspace")
	}
	third := s.job(3, "max-iterations", "9", "resume-without-transcript", "true").public()
	third.do(0).WantOutputs(t, "status", "completed", "workflow-id", first.Outputs["workflow-id"])
	assert.Assert(t, is.Len(third.prompts, 1))
	assert.Check(t, is.Equal(third.prompts[0].Session, state.Fresh), "want a new conversation")
}

// TestStoreLocal checks that store: local stores runs in a directory of the machine, separately for
// each repository, and sends no requests.
func TestStoreLocal(t *testing.T) {
	t.Parallel()
	s := newScene(t, threeScripts)
	dir := t.TempDir()
	local := func(run int64, inputs ...string) *bareJob {
		return s.job(run, append(inputs, "store", "local", "state-dir", dir)...)
	}
	first := local(1, "max-iterations", "1").do(problem.ExitCodes[problem.ClassOverLimit])
	e := local(3, "max-iterations", "9").do(0)
	e.WantOutputs(t, "status", "completed", "workflow-id", first.Outputs["workflow-id"], "state-artifact", "")
	s.wantDone("start middle end")
	assert.Check(t, is.Len(s.forge.AllRequests(), 0), "requests")
	assert.Check(t, sitetest.Exists(filepath.Join(dir, "o", "r", first.Outputs["workflow-id"]+".json")), "no state in the folder")
	local(4, "key", "another", "resume", "require").do(problem.ExitCodes[problem.ClassUsage])
	local(5, "resume", "require").set("GITHUB_REPOSITORY", "o/other").on("workflow_dispatch", "{}").do(problem.ExitCodes[problem.ClassUsage]).WantAnnotation(t, "error", "no run of this key was found")
}

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
		publish := func(run int64, head string) stepEnd {
			return on(run, head, "job", "publish", "resume", "require").do(0)
		}
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

// TestRerunAfterSuccessRestoresResults checks that the re-run button restores outputs, work and
// page of a completed run and starts nothing, because only a later step had failed. Another
// workflow run begins a new run.
func TestRerunAfterSuccessRestoresResults(t *testing.T) {
	t.Parallel()
	s := newGitScene(t, strings.Replace(threeScripts, "echo middle", `echo made >made.txt; echo middle`, 1))
	first := s.job(1).do(0)
	stored := s.newest("agent-build.ref-main").Digest
	j := s.job(1).set("GITHUB_RUN_ATTEMPT", "2")
	e := j.do(0)
	for _, name := range []string{"workflow-id", "status", "outcome", "result", "cost-usd", "iterations", "agents", "resumable", "state-artifact"} {
		assert.Check(t, is.Equal(e.Outputs[name], first.Outputs[name]), "output %s: want it as in the first attempt", name)
	}
	assert.Check(t, is.Equal(sitetest.Read(j.T, filepath.Join(j.Work, "made.txt")), "made\n"), "made.txt: want the work of the first attempt")
	events := sitetest.Read(j.T, e.Outputs["events-file"])
	assert.Check(t, is.Equal(strings.Count(events, `"run_finished"`), 1), "events")
	e.WantAnnotation(t, "notice", "was completed by attempt 1", "nothing starts")
	assert.Check(t, is.Contains(e.Summary, "MIDDLE"), "summary")
	assert.Check(t, is.Contains(e.Summary, "all done"), "summary")
	s.wantDone("start middle end")
	assert.Check(t, is.Equal(s.newest("agent-build.ref-main").Digest, stored), "checkpoint: want the first attempt's")
	s.job(2).do(0)
	s.wantDone("start middle end start middle end")
}

// TestChangedWorkflow checks that a run whose workflow has changed continues with the current
// states, unless changed-workflow says otherwise, and that the decision is reported. The run can't
// continue if its present state is gone. New meta applies from the next state on, and new input is
// ignored.
func TestChangedWorkflow(t *testing.T) {
	t.Parallel()
	s := newScene(t, threeScripts)
	first := s.stops(1, 1, "input", "first", "meta", "color=red")
	unpack(t, s.repo, "-- wf/START.sh --\necho '<goto>MIDDLE.sh</goto>' # changed\n-- wf/END.sh --\necho \"<result>changed $RAYMOND_VAR_COLOR</result>\"\n")
	conflict := problem.ExitCodes[problem.ClassConflict]
	s.job(2, "changed-workflow", "refuse", "max-iterations", "9").do(conflict).WantAnnotation(t, "error", `"START.sh"`, "changed-workflow: take")
	middle, gone := filepath.Join(s.repo, "wf/MIDDLE.sh"), filepath.Join(s.repo, "wf/GONE.sh")
	assert.NilError(t, os.Rename(middle, gone))
	s.job(3, "max-iterations", "9").do(conflict).WantAnnotation(t, "error", "MIDDLE.sh", "is missing")
	assert.NilError(t, os.Rename(gone, middle))
	e := s.job(4, "max-iterations", "9", "input", "second", "meta", "color=blue").do(0)
	e.WantOutputs(t, "workflow-id", first.Outputs["workflow-id"], "result", "changed blue")
	e.WantAnnotation(t, "warning", "input is ignored", "resume: never")
	e.WantAnnotation(t, "notice", "meta has changed", "color")
	e.WantAnnotation(t, "notice", "changed-workflow: take", `"START.sh"`)
	assert.Check(t, is.Contains(strings.ReplaceAll(e.Summary, `\`, ""), "has changed since it began"), "summary: want it to say that the workflow has changed")
	s.wantDone("start middle")
}

// later returns a workflow whose second state starts after the given time.
func later(after string) string {
	return strings.ReplaceAll(`-- wf/START.sh --
echo start >>"$EFFECTS"; echo '<goto after="AFTER">END.sh</goto>'
-- wf/END.sh --
echo end >>"$EFFECTS"; echo '<result>all done</result>'
`, "AFTER", after)
}

// TestNothingDue checks that a step that finds nothing due is green at once, with one line in the
// log. It stores nothing and leaves the comment unchanged, and its outputs list the waiting agents.
func TestNothingDue(t *testing.T) {
	t.Parallel()
	s := newScene(t, later("2h"))
	inputs := []string{"comment", "sticky", "key", "k"}
	first := s.onIssue(1, inputs...).do(0)
	first.WantOutputs(t, "status", "suspended", "resumable", "true", "next-jobs", "[]")
	stored, comments := s.newest("k").Digest, s.forge.Comments.By(7, sitetest.JobsAccount)
	j := s.job(2, inputs...).on("schedule", "{"+inPrivate+"}")
	e := j.do(0)
	e.WantOutputs(t, "status", "suspended", "workflow-id", first.Outputs["workflow-id"], "resumable", "true", "waiting", first.Outputs["waiting"])
	e.WantAnnotation(t, "notice", "nothing to do yet", first.Outputs["workflow-id"], "until ")
	if n := len(e.Annotations("notice")) + len(e.Annotations("warning")) + len(e.Annotations("error")); n != 1 || e.Summary != "" {
		t.Errorf("got %d annotations and the summary %q, want one line", n, e.Summary)
	}
	j.post()
	assert.Check(t, is.Equal(s.newest("k").Digest, stored), "checkpoint")
	assert.Check(t, is.DeepEqual(s.forge.Comments.By(7, sitetest.JobsAccount), comments), "comments")
	s.wantDone("start")
	// A run that is named by its id is always tried.
	s.job(3, append(inputs, "resume", first.Outputs["workflow-id"])...).on("schedule", "{"+inPrivate+"}").do(0).
		WantOutputs(t, "status", "suspended", "iterations", "1")
}
