//go:build linux

package action_test

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

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
	assert.Check(t, is.Len(s.forge.Comments.Requests(), 0), "requests about comments")
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

// waiting is a workflow whose second state waits for a file.
const waiting = `-- wf/START.sh --
echo '<goto>WAIT.sh</goto>'
-- wf/WAIT.sh --
echo reached >>"$EFFECTS"; until [ -e "$EFFECTS.go" ]; do sleep 0.02; done
echo '<result>all done</result>'
`

// TestPostCompletesThePageAfterAKill checks that after a kill the summary written so far stays, and
// the post phase adds how the run ended and updates the comment. A later run edits the same
// comment.
func TestPostCompletesThePageAfterAKill(t *testing.T) {
	t.Parallel()
	s := newForgeScene(t, waiting)
	j := s.commented(1)
	c := j.start()
	c.Until("the wait of the job, with its comment", func() bool {
		return s.done() == "reached" && len(s.forge.Comments.By(7, sitetest.JobsAccount)) == 1
	})
	c.Kill()
	assert.Check(t, is.Contains(sitetest.Read(j.T, j.CommandFile("GITHUB_STEP_SUMMARY")), "Running"), "summary of the killed step: want one of a run under way")
	one := s.wantComment(7, "Running")
	post := j.end(j.command("action-post"))
	words := []string{"Cancelled", "the step was killed before the run had stopped", "Next:", "`key: agent-build.issue-7`"}
	two := s.wantComment(7, append(words, "actions/runs/1/attempts/1")...)
	for _, word := range words {
		assert.Check(t, is.Contains(post.Summary, word), "summary of the post part")
	}
	if post.Code != 0 || one.ID != two.ID || len(post.Annotations("warning"))+len(post.Annotations("error")) > 0 {
		t.Errorf("post: got %v, comments %d and %d; want success and one", post, one.ID, two.ID)
	}
	left := filepath.Join(j.Temp, "raymond")
	assert.Check(t, !sitetest.Exists(left), "after the post part: got %s, which another user could not remove, want nothing", left)
	s.letGo()
	s.commented(2).do(0)
	assert.Check(t, is.Equal(s.wantComment(7, "Completed", "all done", "Resumed in", "actions/runs/2/").ID, one.ID), "comment of the next job")
}

// TestPostEndsMainPhaseWithoutSignal checks that the post phase ends a main phase that got no
// signal, as in a container, and adds the end of the run to the page. The runner has read the page
// of the main phase before.
func TestPostEndsMainPhaseWithoutSignal(t *testing.T) {
	t.Parallel()
	s := newScene(t, waiting)
	j := s.commented(1)
	j.late = j.start()
	j.late.Until("the wait of the job", func() bool { return s.done() == "reached" })
	post := j.end(j.command("action-post"))
	if e := j.late.Wait(); post.Code != 0 || !strings.Contains(post.Summary, "Cancelled") || e.Code == 0 {
		t.Errorf("post: got %v; the main part: %v; want that ended, and how it ended on the page", post, e)
	}
	s.wantComment(7, "Cancelled")
}

// fails is a workflow whose only state fails.
const fails = "-- wf/START.sh --\necho 'line one' >&2; echo 'line two' >&2; exit 3\n"

// markless returns Markdown as a reader sees it, on one line.
func markless(text string) string {
	text = strings.NewReplacer("<code>", "", "</code>", "", "`", "", `\`, "", "%0A", " ", "%25", "%").Replace(text)
	return strings.Join(strings.Fields(text), " ")
}

// wantEverywhere checks that log, page, annotations, errors and comment contain a text once.
func (s *scene) wantEverywhere(e stepEnd, text string) {
	s.t.Helper()
	media := map[string]string{
		"log": strings.Join(e.Lines, "\n"), "page": e.Summary, "stderr": e.Stderr,
		"annotations": strings.Join(append(e.Annotations("notice"), append(e.Annotations("warning"), e.Annotations("error")...)...), "\n"),
	}
	if ours := s.forge.Comments.By(7, sitetest.JobsAccount); len(ours) == 1 && !strings.Contains(ours[0].Body, "Running") {
		// A cancelled step may have no time for the comment; then the post phase writes it.
		media["comment"] = ours[0].Body
	}
	for medium, got := range media {
		if medium == "stderr" && got == "" {
			continue // the step is green
		}
		assert.Check(s.t, is.Equal(strings.Count(markless(got), text), 1), "%s: how often %q is in\n%s", medium, text, got)
	}
}

// TestNextStepsAreTheSameEverywhere checks that log, notice, page, comment, error and output agree
// on the user's next steps, and that these fit the ending and the event.
func TestNextStepsAreTheSameEverywhere(t *testing.T) {
	t.Parallel()
	s := newScene(t, fails)
	e := s.commented(1).do(problem.ExitCodes[problem.ClassRunFailed])
	s.wantEverywhere(e, "Fix the cause, then press the re-run button, or have the next event on this issue try it again.")
	e.WantOutputs(t, "resumable", "true")

	s = newForgeScene(t, fails)
	e = s.job(1).set("ACTIONS_RUNTIME_TOKEN", "").do(problem.ExitCodes[problem.ClassRunFailed])
	s.wantEverywhere(e, "This run can't be resumed: the job has no results service (ACTIONS_RUNTIME_TOKEN is not set), "+
		"so nothing of the run is stored; store: local with a state-dir stores runs on the machine.")
	e.WantOutputs(t, "resumable", "false")

}

// TestErrorsWithoutARunHaveAPage checks that an error before the run is shown on the page and in
// the comment. A stranger's event changes no comment.
func TestErrorsWithoutARunHaveAPage(t *testing.T) {
	t.Parallel()
	s := newScene(t, threeScripts)
	e := s.commented(1, "resume", "require").do(problem.ExitCodes[problem.ClassUsage])
	assert.Check(t, is.Contains(e.Summary, "❌ Error: `wf`"), "page: got\n%s\nwant the error", e.Summary)
	assert.Check(t, is.Contains(e.Summary, "no run of this key was found"), "page: got\n%s\nwant the error", e.Summary)
	s.wantComment(7, "❌ Error", "no run of this key was found")

	s = newScene(t, threeScripts)
	e = s.commented(2).on("issues", event(person("eve"), `"action":"labeled"`, `"issue":{"number":7}`)).do(problem.ExitCodes[problem.ClassDenied])
	if !strings.Contains(e.Summary, "❌ Error: `wf`") || !strings.Contains(e.Summary, "denied") || len(s.forge.Comments.By(7, sitetest.JobsAccount)) > 0 {
		t.Errorf("page of a refused event: got\n%s\nand %d comments, want the refusal and none", e.Summary, len(s.forge.Comments.By(7, sitetest.JobsAccount)))
	}
}
