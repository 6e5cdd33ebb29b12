//go:build linux

package action_test

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
)

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
	stored, said := s.forge.All(), s.forge.Comments.By(7, sitetest.JobsAccount)
	j := s.job(2, inputs...).on("schedule", "{"+inPrivate+"}")
	e := j.do(0)
	e.WantOutputs(t, "status", "suspended", "workflow-id", first.Outputs["workflow-id"], "resumable", "true", "waiting", first.Outputs["waiting"])
	e.WantAnnotation(t, "notice", "nothing to do yet", first.Outputs["workflow-id"], "until ")
	if n := len(e.Annotations("notice")) + len(e.Annotations("warning")) + len(e.Annotations("error")); n != 1 || e.Summary != "" {
		t.Errorf("got %d annotations and the summary %q, want one line", n, e.Summary)
	}
	j.post()
	assert.Check(t, is.DeepEqual(s.forge.All(), stored), "artifacts")
	assert.Check(t, is.DeepEqual(s.forge.Comments.By(7, sitetest.JobsAccount), said), "comments")
	s.wantDone("start")
	// A run that is named by its id is always tried.
	s.job(3, append(inputs, "resume", first.Outputs["workflow-id"])...).on("schedule", "{"+inPrivate+"}").do(0).
		WantOutputs(t, "status", "suspended", "iterations", "1")
}
