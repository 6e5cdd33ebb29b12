//go:build linux

package action_test

import (
	"testing"

	"github.com/raymond-action/raymond-action/artifacts/artifactstest"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
)

// replay stores artifacts again, which makes them the newest. Every job that may store artifacts in
// the workflow run can do this. Their sealed contents stay unchanged.
func (s *scene) replay(list []artifactstest.Artifact) {
	for _, a := range list {
		a.ID = 0
		s.forge.Put(a)
	}
}

// TestOlderCheckpointIsNotAccepted checks that a job with the input follows resumes that checkpoint
// or a later one, and refuses any other, although it is correctly sealed.
func TestOlderCheckpointIsNotAccepted(t *testing.T) {
	t.Parallel()
	s := newScene(t, threeScripts)
	stateKey := sitetest.NewStateKey(t)
	begin := func(job, limit, follows string) *bareJob {
		return s.job(1, "key", "k", "state-key", stateKey, "max-iterations", limit, "follows", follows).set("GITHUB_JOB", job)
	}
	overLimit, conflict := problem.ExitCodes[problem.ClassOverLimit], problem.ExitCodes[problem.ClassConflict]
	first := begin("one", "1", "").do(overLimit).Outputs["state-digest"]
	old := s.forge.All()
	second := begin("two", "2", first).do(overLimit).Outputs["state-digest"]
	newest := s.forge.All()
	if first == "" || second == "" || first == second {
		t.Fatalf("state-digest: got %q and %q, want two different names", first, second)
	}

	s.replay(old)
	e := begin("three", "9", second).do(conflict)
	e.WantOutputs(t, "error-class", "conflict", "status", "")
	e.WantAnnotation(t, "error", "an older one was stored again", "resume: never")
	begin("three", "9", "sha256:0").do(problem.ExitCodes[problem.ClassUsage]).WantAnnotation(t, "error", "follows", "state-digest")
	s.wantDone("start middle")

	s.replay(newest)
	last := begin("three", "9", first).do(0) // the newest checkpoint is a later one
	last.WantOutputs(t, "status", "completed")
	s.wantDone("start middle end")
	if third := last.Outputs["state-digest"]; third == "" || third == second {
		t.Errorf("state-digest at the end: got %q, want another one than %q", third, second)
	}

	s.replay(old) // without the input, an older checkpoint is accepted
	begin("four", "9", "").do(0)
	s.wantDone("start middle end middle end")
}
