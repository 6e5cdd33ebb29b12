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

// threeScripts is a workflow of scripts, on a tree that stays clean.
const threeScripts = `-- wf/START.sh --
echo start >>"$EFFECTS"; echo '<goto>MIDDLE.sh</goto>'
-- wf/MIDDLE.sh --
echo middle >>"$EFFECTS"; echo '<goto>END.sh</goto>'
-- wf/END.sh --
echo end >>"$EFFECTS"; echo '<result>all done</result>'
`

// agentAtWork is a workflow of two agents in one conversation, the first of which
// leaves a file that is not committed.
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

// scene is a repository and its forge, and what its runs do.
type scene struct {
	t       *testing.T
	forge   *sitetest.Forge
	repo    string
	effects string
}

// newScene has the files of an archive in a folder, so that no step starts git.
func newScene(t *testing.T, archive string) *scene {
	t.Helper()
	return &scene{t, sitetest.NewForge(t), folder(t, archive), filepath.Join(t.TempDir(), "effects")}
}

// newGitScene has them in a git repository: its steps keep the work in the workspace.
func newGitScene(t *testing.T, archive string) *scene {
	t.Helper()
	return &scene{t, sitetest.NewForge(t), sitetest.Repository(t, archive), filepath.Join(t.TempDir(), "effects")}
}

// job begins the job of another workflow run, on another machine.
func (s *scene) job(run int64, inputs ...string) *bareJob {
	s.t.Helper()
	return newJob(s.t, s.forge, s.repo, run).set("EFFECTS", s.effects, "SIDE_EFFECTS", s.effects, "GITHUB_GRAPHQL_URL", s.forge.API.URL+"/api/graphql").
		with("env", "EFFECTS SIDE_EFFECTS").with(inputs...)
}

// onIssue is a job that issue 7 has started.
func (s *scene) onIssue(run int64, inputs ...string) *bareJob {
	s.t.Helper()
	return s.job(run, inputs...).on("issues", event(person("ann"), `"action":"labeled"`, `"issue":{"number":7,"title":"A title"}`))
}

// newest is the newest checkpoint.
func (s *scene) newest() sitetest.StoredRun {
	s.t.Helper()
	all := s.forge.Checkpoints(s.t, nil)
	assert.Assert(s.t, len(all) > 0, "checkpoints: got none")
	return all[len(all)-1]
}

// stored are the artifacts that have a word in their names.
func (s *scene) stored(word string) []artifactstest.Artifact {
	return slices.DeleteFunc(s.forge.All(), func(a artifactstest.Artifact) bool { return !strings.Contains(a.Name, word) })
}

// stops is a first workflow run that stops after n states and is stored.
func (s *scene) stops(run int64, n int, inputs ...string) ended {
	s.t.Helper()
	e := s.job(run, append(inputs, "max-iterations", strconv.Itoa(n))...).do(problem.ExitCodes[problem.ClassOverLimit])
	e.WantOutputs(s.t, "status", "over_iterations", "resumable", "true")
	return e
}

// done are the states that have had an effect.
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

// TestTheNextWorkflowRunResumes where the one before it stopped: on GitHub and on
// Gitea, without a state-key in a private repository, and in a public one when
// there is nothing that is not stored.
func TestTheNextWorkflowRunResumes(t *testing.T) {
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

// TestStateKeys: a sealed checkpoint needs its key, keys can be rotated, and no
// other key and no forgery is taken for the right one.
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
		e.WantSays(t, "error", test.says)
	}
	j := s.job(3, "state-key", next+"\n"+old, "max-iterations", "9", "resume", "require")
	j.do(0).WantOutputs(t, "status", "completed", "result", "all done")
	assert.Check(t, is.Equal(sitetest.Read(j.T, filepath.Join(j.Work, "work.txt")), "work\n"), "work.txt: want what the run before it left")
}

// TestARunOfAnotherBranch is found if it is sealed, whatever the event; who left one that is
// not is told whose runs find it.
func TestARunOfAnotherBranch(t *testing.T) {
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
