//go:build linux

package action_test

import (
	"net/http"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/ask"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
)

// commented returns a job that issue 7 has started, with a sticky comment there.
func (s *scene) commented(run int64, inputs ...string) *bareJob {
	s.t.Helper()
	return s.onIssue(run, "comment", "sticky").with(inputs...)
}

// wantComment checks that an issue has one comment of the job's account, which contains the given
// texts.
func (s *scene) wantComment(number int, parts ...string) sitetest.Comment {
	s.t.Helper()
	ours := s.forge.Comments.By(number, sitetest.JobsAccount)
	if len(ours) != 1 {
		s.t.Fatalf("comments on %d: got %+v, want one\nrequests: %q", number, ours, s.forge.Comments.Requests())
	}
	for _, part := range parts {
		assert.Check(s.t, is.Contains(ours[0].Body, part), "comment on %d", number)
	}
	return ours[0]
}

// markerOf7 returns the first line of the comment on issue 7.
func (*scene) markerOf7() string {
	return ask.StickyMarker(".github/workflows/agent.yml", "agent-build.issue-7", "issue", "7")
}

// wantNoTalk checks that no request about comments was sent.
func (s *scene) wantNoTalk() {
	s.t.Helper()
	assert.Check(s.t, is.Len(s.forge.Comments.Requests(), 0), "requests about comments")
}

// TestRunKeepsOneComment checks that the same comment is edited throughout a run, its resume on
// another machine, and the next run of the key.
func TestRunKeepsOneComment(t *testing.T) {
	t.Parallel()
	s := newScene(t, threeScripts)
	first := s.commented(1, "max-iterations", "1").do(problem.ExitCodes[problem.ClassOverLimit])
	one := s.wantComment(7, "Over the limit of iterations", first.Outputs["workflow-id"], "(<https://example.test/o/r/actions/runs/1/attempts/1>)")
	second := s.commented(2, "max-iterations", "10").do(0)
	two := s.wantComment(7, "Completed", "all done", "in 2 segments", "Resumed in", "actions/runs/2/attempts/1")
	j := s.commented(3).set("GITHUB_RUN_ATTEMPT", "2", "GITHUB_TRIGGERING_ACTOR", "ann")
	third := j.do(0)
	three := s.wantComment(7, "Completed", third.Outputs["workflow-id"], "actions/runs/3/attempts/2")
	if one.ID != two.ID || one.ID != three.ID || first.Outputs["workflow-id"] != second.Outputs["workflow-id"] {
		t.Errorf("got the comments %d, %d and %d, want one", one.ID, two.ID, three.ID)
	}
	asked := s.forge.Comments.Requests()
	assert.Check(t, is.Equal(j.post().Summary, ""), "post: nothing is left to be done")
	assert.Check(t, is.DeepEqual(s.forge.Comments.Requests(), asked), "post: nothing is left to be done")
}

// TestNoNeedlessCommentRequests checks that no request about comments is sent without the input,
// without an issue, in other modes, and for a sender who may not start the run.
func TestNoNeedlessCommentRequests(t *testing.T) {
	t.Parallel()
	s := newScene(t, threeScripts)
	s.commented(1, "comment", "").do(0)
	s.commented(3, "mode", "lint").do(0)
	denied := event(person("eve"), `"issue":{"number":7}`)
	s.commented(5).on("issues", denied).do(problem.ExitCodes[problem.ClassDenied])
	e := s.commented(7).on("schedule", event()).do(0)
	e.WantAnnotation(t, "notice", "comment: sticky", "schedule", "no issue or pull request")
	e.WantOutputs(t, "status", "completed")
	s.wantNoTalk()
}

// TestRefusedCommentIsAWarning checks that a refused comment causes one request and one warning,
// which names the permission, and that the step is green.
func TestRefusedCommentIsAWarning(t *testing.T) {
	t.Parallel()
	const notIntegrated = "Resource not accessible by integration"
	for payload, permission := range map[string]string{`"issue":{"number":7}`: "issues", fromHome: "pull-requests"} {
		s := newScene(t, threeScripts)
		s.forge.Comments.Fault = sitetest.RefuseRequests("^GET issues", http.StatusForbidden, notIntegrated)
		j := s.commented(1).on("issues", event(person("ann"), payload))
		e := j.do(0)
		e.WantAnnotation(t, "warning", "permissions: "+permission+": write", notIntegrated, "comment")
		e.WantOutputs(t, "status", "completed", "error-class", "")
		j.post()
		assert.Check(t, is.Len(e.Annotations("warning"), 1))
		assert.Check(t, is.Len(s.forge.Comments.Requests(), 1))
	}
}
