//go:build linux

package action_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/artifacts/artifactstest"
	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
)

// TestSecondUseInAJobNeedsAKey checks that two steps of a job can't share a default key, and that
// nothing starts then. Steps that use no key don't count.
func TestSecondUseInAJobNeedsAKey(t *testing.T) {
	t.Parallel()
	s := newScene(t, threeScripts)
	first := s.job(1, "workflow", filepath.Join(s.repo, "wf")) // agents don't write to this directory
	first.on("issue_comment", "{"+inPrivate+`,"sender":{"login":"eve","type":"User"},"issue":{"number":7}}`).with("on-denied", "skip").do(0)
	first = first.on("workflow_dispatch", "{"+inPrivate+"}")
	first.step("lint").with("mode", "lint").do(0)
	e := first.step("first").do(0)
	e.WantOutputs(t, "status", "completed")
	s.wantDone("start middle end")
	second := first.step("second").do(problem.ExitCodes[problem.ClassUsage])
	second.WantAnnotation(t, "error", "input key", "agent-build.ref-main", "earlier step")
	second.WantOutputs(t, "status", "", "error-class", "usage")
	s.wantDone("start middle end")
	first.step("fourth").with("key", "own").do(0)
	first.step("fifth").with("key", "agent-build.ref-main", "resume", "require").do(problem.ExitCodes[problem.ClassUsage]).WantAnnotation(t, "error", "is completed")
	s.wantDone("start middle end start middle end")
	s.job(1, "key", "agent-build.ref-main").set("GITHUB_JOB", "other").do(0)
}

// heldFlow is a workflow whose second state runs until it is killed.
const heldFlow = `-- wf/START.sh --
echo "$WHO" >>"$EFFECTS"; echo "$WHO" >work.txt; echo '<goto>HOLD.sh</goto>'
-- wf/HOLD.sh --
echo held >>"$EFFECTS"; while :; do sleep 0.1; done
`

// TestUsesInACompositeActionAreSeparate checks two steps in a composite action, which the runner
// gives the outer step's name. Each post phase stores the run of its own main phase, under its key
// and sealed with its state-key, in the order in which the runner starts them.
func TestUsesInACompositeActionAreSeparate(t *testing.T) {
	t.Parallel()
	s := newForgeScene(t, heldFlow)
	secrets := map[string]string{"one": sitetest.NewStateKey(t), "two": sitetest.NewStateKey(t)}
	outer := s.job(1, "workflow", filepath.Join(s.repo, "wf"))
	uses := map[string]*bareJob{}
	for _, name := range []string{"one", "two"} {
		uses[name] = outer.step(name).set("WHO", name).with("key", name, "state-key", secrets[name], "env", "EFFECTS WHO")
		c := uses[name].start()
		c.Until("the state that holds", func() bool { return strings.Count(s.done(), "held") == len(uses) })
		c.Kill()
	}
	for _, name := range []string{"two", "one"} {
		before := len(s.checkpoints())
		assert.Check(t, is.Equal(uses[name].end(uses[name].command("action-post")).Code, 0), "post of %s", name)
		if own := uses[name].StepDir(); sitetest.Exists(own) || sitetest.Exists(filepath.Join(filepath.Dir(own), "keys")) != (name == "two") {
			t.Errorf("post of %s: got its folder %s left, or what it shares removed before the last of the job", name, own)
		}
		added := s.checkpoints()[before:]
		assert.Assert(t, is.Len(added, 1), "post of %s", name)
		keys, err := checkpoint.ParseKeys(secrets[name])
		assert.NilError(t, err)
		assert.Check(t, is.Equal(sitetest.ReadStored(t, added[0], keys).Manifest.Key, name), "post of %s", name)
	}
	// Without the state that the runner saves for it, a post phase has nothing to do.
	delete(uses["one"].Env, "STATE_"+sitetest.PartState)
	uses["one"].Site.Write(uses["one"].CommandFile("GITHUB_STATE"), "")
	before := len(s.forge.All())
	if e := uses["one"].end(uses["one"].command("action-post")); e.Code != 0 || len(s.forge.All()) != before {
		t.Errorf("post of a main part that came to nothing: got %v and %d artifacts more, want nothing done", e, len(s.forge.All())-before)
	}
}

// checkpoints returns the checkpoints that the forge has stored.
func (s *scene) checkpoints() []artifactstest.Artifact {
	return slices.DeleteFunc(s.forge.All(), func(a artifactstest.Artifact) bool { return !sitetest.IsCheckpoint(a) })
}

func names(list []artifactstest.Artifact) []string {
	var out []string
	for _, a := range list {
		out = append(out, a.Name)
	}
	return out
}

// asGitea makes the job run on Gitea.
func asGitea(j *bareJob) {
	delete(j.Env, "GITHUB_WORKFLOW_REF")
	delete(j.Env, "GITHUB_REPOSITORY_ID")
	j.set("GITEA_ACTIONS", "true", "GITHUB_WORKFLOW", "agent.yml")
}
