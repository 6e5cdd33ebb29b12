//go:build linux

package action_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/artifacts/artifactstest"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
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

// scene is a repository with its forge. Its scripts write their effects to a file.
type scene struct {
	t       *testing.T
	forge   *sitetest.Forge
	repo    string
	effects string
}

// newScene returns a scene with files in a plain directory, so that no step starts git.
func newScene(t *testing.T, archive string) *scene {
	t.Helper()
	return &scene{t, sitetest.NewForge(t), folder(t, archive), filepath.Join(t.TempDir(), "effects")}
}

// newGitScene returns a scene with files in a git repository, so that its steps store the work in
// the workspace.
func newGitScene(t *testing.T, archive string) *scene {
	t.Helper()
	return &scene{t, sitetest.NewForge(t), sitetest.Repository(t, archive), filepath.Join(t.TempDir(), "effects")}
}

// job returns the job of another workflow run, on another machine.
func (s *scene) job(run int64, inputs ...string) *bareJob {
	s.t.Helper()
	return newJob(s.t, s.forge, s.repo, run).set("EFFECTS", s.effects, "SIDE_EFFECTS", s.effects, "GITHUB_GRAPHQL_URL", s.forge.API.URL+"/api/graphql").
		with("env", "EFFECTS SIDE_EFFECTS").with(inputs...)
}

// onIssue returns a job that issue 7 has started.
func (s *scene) onIssue(run int64, inputs ...string) *bareJob {
	s.t.Helper()
	return s.job(run, inputs...).on("issues", event(person("ann"), `"action":"labeled"`, `"issue":{"number":7,"title":"A title"}`))
}

// newest returns the newest checkpoint.
func (s *scene) newest() sitetest.StoredRun {
	s.t.Helper()
	all := s.forge.Checkpoints(s.t, nil)
	assert.Assert(s.t, len(all) > 0, "checkpoints: got none")
	return all[len(all)-1]
}

// stored returns the artifacts whose names contain a word.
func (s *scene) stored(word string) []artifactstest.Artifact {
	return slices.DeleteFunc(s.forge.All(), func(a artifactstest.Artifact) bool { return !strings.Contains(a.Name, word) })
}

// stops runs a first workflow run, which stops after n states and is stored.
func (s *scene) stops(run int64, n int, inputs ...string) ended {
	s.t.Helper()
	e := s.job(run, append(inputs, "max-iterations", strconv.Itoa(n))...).do(problem.ExitCodes[problem.ClassOverLimit])
	e.WantOutputs(s.t, "status", "over_iterations", "resumable", "true")
	return e
}

// done returns the effects of the states that have run.
func (s *scene) done() string {
	s.t.Helper()
	data, err := os.ReadFile(s.effects)
	if err != nil && !os.IsNotExist(err) {
		s.t.Fatal(err)
	}
	return strings.Join(strings.Fields(string(data)), " ")
}

func (s *scene) wantDone(want string) {
	s.t.Helper()
	assert.Check(s.t, is.Equal(s.done(), want), "states that ran")
}

// TestNextWorkflowRunResumes checks that a workflow run continues where the previous one stopped:
// on GitHub and on Gitea, without a state-key in a private repository, and in a public one if
// nothing had to be left out.
func TestNextWorkflowRunResumes(t *testing.T) {
	t.Parallel()
	for gitea, payload := range map[bool]string{false: "{" + inPublic + "}", true: "{" + inPrivate + "}"} {
		s := newScene(t, threeScripts)
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
		base := s.newest().Manifest.Base
		assert.Check(t, base != nil && base.RunID == 2, "gitea: %v: the last checkpoint is based on %+v, want workflow run 2", gitea, base)
		fourth := change(s.job(4)).do(0)
		assert.Check(t, fourth.Outputs["workflow-id"] != first.Outputs["workflow-id"], "after a completed run: got %v, want a new one", fourth.Outputs)
		change(s.job(5, "resume", "require")).do(problem.ExitCodes[problem.ClassUsage]).WantOutputs(t, "error-class", "usage")
	}
}

// TestStateKeys checks that a sealed checkpoint needs its key, that keys can be rotated, and that
// another key is refused.
func TestStateKeys(t *testing.T) {
	t.Parallel()
	s := newGitScene(t, agentAtWork)
	old, next, foreign := sitetest.NewStateKey(t), sitetest.NewStateKey(t), sitetest.NewStateKey(t)
	open := s.job(1, "state-key", old)
	open.Payload = "{" + inPublic + "}"
	open.with("max-iterations", "2").do(problem.ExitCodes[problem.ClassOverLimit])
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
		s := newScene(t, threeScripts)
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
