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

// fails is a workflow whose only state fails.
const fails = "-- wf/START.sh --\necho 'line one' >&2; echo 'line two' >&2; exit 3\n"

// markless returns Markdown as a reader sees it, on one line.
func markless(text string) string {
	text = strings.NewReplacer("<code>", "", "</code>", "", "`", "", `\`, "", "%0A", " ", "%25", "%").Replace(text)
	return strings.Join(strings.Fields(text), " ")
}

// wantEverywhere checks that log, page, annotations, errors and comment contain a text once.
func (s *scene) wantEverywhere(e ended, text string) {
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

	s = newScene(t, fails)
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
