//go:build linux

package action_test

import (
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
)

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
	s := newScene(t, waiting)
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
