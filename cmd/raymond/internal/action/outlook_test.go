//go:build linux

package action_test

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
)

// fails is a workflow whose only state fails.
const fails = "-- wf/START.sh --\necho 'line one' >&2; echo 'line two' >&2; exit 3\n"

// markless is what somebody reads of Markdown, as one line.
func markless(text string) string {
	text = strings.NewReplacer("<code>", "", "</code>", "", "`", "", `\`, "", "%0A", " ", "%25", "%").Replace(text)
	return strings.Join(strings.Fields(text), " ")
}

// wantEverywhere checks that every medium says a text once, and none another one.
func (s *scene) wantEverywhere(e ended, text string) {
	s.t.Helper()
	media := map[string]string{
		"log": strings.Join(e.lines, "\n"), "page": e.summary, "stderr": e.Stderr,
		"annotations": strings.Join(append(e.texts("notice"), append(e.texts("warning"), e.texts("error")...)...), "\n"),
	}
	if ours := s.forge.Talk.By(7, sitetest.JobsAccount); len(ours) == 1 && !strings.Contains(ours[0].Body, "Running") {
		// A step that is cancelled may be left no time for it; the post part writes it.
		media["comment"] = ours[0].Body
	}
	for medium, got := range media {
		if medium == "stderr" && got == "" {
			continue // the step is green
		}
		if n := strings.Count(markless(got), text); n != 1 {
			s.t.Errorf("%s: got %q %d times in\n%s\nwant it once", medium, text, n, got)
		}
	}
}

// TestOneOutlookEverywhere: log, notice, page, comment, error and output say the
// same about what can be done next, and it is true for the ending and the event.
func TestOneOutlookEverywhere(t *testing.T) {
	t.Parallel()
	s := newScene(t, fails)
	e := s.onIssue(1).do(problem.ExitCodes[problem.ClassRunFailed])
	s.wantEverywhere(e, "Fix the cause, then press the re-run button, or have the next event on this issue try it again.")
	e.wantOutputs(t, "resumable", "true")
	s.wantFailureOnce(e)

	s = newScene(t, fails)
	e = s.job(1).do(problem.ExitCodes[problem.ClassRunFailed])
	s.wantEverywhere(e, "Fix the cause, then press the re-run button, or run the workflow with resume: "+e.outputs["workflow-id"]+".")

	s = newScene(t, threeScripts)
	e = s.onIssue(1, "max-iterations", "1").do(problem.ExitCodes[problem.ClassOverLimit])
	s.wantEverywhere(e, "Raise max-iterations above 1, then run the workflow again with key: agent-build.issue-7. "+
		"The re-run button can't: it keeps the old limit.")
	e.wantOutputs(t, "resumable", "true")

	s = newScene(t, fails)
	e = s.job(1).set("ACTIONS_RUNTIME_TOKEN", "").do(problem.ExitCodes[problem.ClassRunFailed])
	s.wantEverywhere(e, "Nobody can resume this run: the job has no results service (ACTIONS_RUNTIME_TOKEN is not set), "+
		"so nothing of it is stored; store: local with a state-dir keeps runs on the machine.")
	e.wantOutputs(t, "resumable", "false")

	s = newScene(t, threeScripts)
	if e = s.onIssue(1).do(0); strings.Contains(e.summary+e.Stdout, "ext:") {
		t.Errorf("a completed run: got %v and the page\n%s\nwant nothing about what is next", e, e.summary)
	}
	e.wantOutputs(t, "resumable", "false")
}

// wantFailureOnce checks that no text has the failure of fails twice, and that its
// lines are lines where there is room for them.
func (s *scene) wantFailureOnce(e ended) {
	t := s.t
	t.Helper()
	comment := s.wantComment(7).Body
	for what, got := range map[string]string{
		"page": e.summary[:strings.Index(e.summary, "### Path")], "comment": comment, "annotations": strings.Join(append(e.texts("error"), e.texts("notice")...), "\n"),
	} {
		if strings.Count(got, "line one\nline two") != 1 || strings.Contains(got, `\n`) {
			t.Errorf("%s: got\n%s\nwant the two lines once", what, got)
		}
	}
	if n := strings.Count(strings.Join(e.lines, "\n"), `stderr: line one\nline two`); n != 1 {
		t.Errorf("log: got the failure %d times, want it once:\n%s", n, strings.Join(e.lines, "\n"))
	}
	if strings.Contains(e.outputs["agents"], `\\n`) || !strings.Contains(e.outputs["agents"], `line one\nline two`) {
		t.Errorf("output agents: got %s, want the line breaks as such", e.outputs["agents"])
	}
}

// TestTheJobThatResumesIsNamed: a run that is suspended for the next job of its
// workflow run is not said to wait for somebody. The workflow file is read before
// agents can change it.
func TestTheJobThatResumesIsNamed(t *testing.T) {
	t.Parallel()
	s := newScene(t, `-- wf/START.sh --
sed -i 's/later/evil/' .github/workflows/agent.yml
sleep 10; echo '<goto>END.sh</goto>'
-- wf/END.sh --
echo '<result>done</result>'
-- .github/workflows/agent.yml --
jobs:
  build:
    steps: [{uses: o/raymond-action@v1, with: {key: k}}]
  later:
    needs: build
    steps: [{uses: o/raymond-action@v1, with: {key: k}}]
`)
	j := s.job(1, "key", "k", "deadline", "10s") // a busy machine takes seconds to the first state
	e := j.do(0)
	e.wantOutputs(t, "status", "suspended", "resumable", "true")
	s.wantEverywhere(e, "The job later of this workflow run resumes it. If it does not: "+
		"The next run with key: k resumes it, or the re-run button.")
	if got := j.read(filepath.Join(j.work, ".github/workflows/agent.yml")); !strings.Contains(got, "evil") {
		t.Errorf("workflow file: got %q, want it changed by the state", got)
	}
}

// TestWhatPostStoresIsSaidByBoth: the main part of a step that is cancelled and
// can't store says that the post part will, and that says that it has.
func TestWhatPostStoresIsSaidByBoth(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	to, err := url.Parse(s.forge.URL)
	if err != nil {
		t.Fatal(err)
	}
	var hangs atomic.Bool
	over := make(chan struct{})
	proxy := httputil.NewSingleHostReverseProxy(to)
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if hangs.Load() {
			<-over
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		close(over)
		service.Close()
	})
	j := s.job(1).set("ACTIONS_RESULTS_URL", service.URL)
	c := j.start()
	s.reached(c, 1)
	hangs.Store(true)
	c.Signal(os.Interrupt)
	e := j.end(c)
	e.wantOutputs(t, "status", "cancelled", "resumable", "true", "state-artifact", "")
	s.wantEverywhere(e, "The next run with key: agent-build.issue-7 resumes it, or the re-run button. It is stored by the post part when this job ends.")
	if !strings.Contains(e.summary, "the job was cancelled (SIGINT)") {
		t.Errorf("page: got\n%s\nwant why in words", e.summary)
	}
	hangs.Store(false)
	post := j.end(j.command("action-post"))
	stored := "The next run with key: agent-build.issue-7 resumes it, or the re-run button. It is stored as raymond-agent-build.issue-7-1 by the post part."
	for what, got := range map[string]string{"page": post.summary, "comment": s.wantComment(7).Body} {
		if strings.Count(markless(got), stored) != 1 {
			t.Errorf("%s of the post part: got\n%s\nwant %q", what, got, stored)
		}
	}
	for what, got := range map[string]string{"main": e.summary + e.Stdout + e.Stderr, "post": post.summary + post.Stdout + post.Stderr} {
		if strings.Contains(strings.ToLower(got), "not stored") {
			t.Errorf("%s: got %q, want no word that it is not stored", what, got)
		}
	}
	if strings.Contains(post.Stdout, "add-mask::"+j.inputs["github-token"]) {
		t.Errorf("log of the post part: got the masks again: %q", post.Stdout)
	}
}

// TestErrorsWithoutARunHaveAPage: what no event tells is on the page and in the
// comment; a stranger's event changes no comment.
func TestErrorsWithoutARunHaveAPage(t *testing.T) {
	t.Parallel()
	s := newScene(t, threeScripts)
	e := s.onIssue(1, "resume", "require").do(problem.ExitCodes[problem.ClassUsage])
	if !strings.Contains(e.summary, "❌ Error: `wf`") || !strings.Contains(e.summary, "no run of this key was found") {
		t.Errorf("page: got\n%s\nwant the error", e.summary)
	}
	s.wantComment(7, "❌ Error", "no run of this key was found")

	s = newScene(t, threeScripts)
	j := s.job(2, "comment", "sticky").set("GITHUB_GRAPHQL_URL", s.forge.API.URL+"/api/graphql").
		on("issues", event(person("eve"), `"action":"labeled"`, `"issue":{"number":7}`))
	e = j.do(problem.ExitCodes[problem.ClassDenied])
	if !strings.Contains(e.summary, "❌ Error: `wf`") || !strings.Contains(e.summary, "denied") || len(s.forge.Talk.By(7, sitetest.JobsAccount)) > 0 {
		t.Errorf("page of a refused event: got\n%s\nand %d comments, want the refusal and none", e.summary, len(s.forge.Talk.By(7, sitetest.JobsAccount)))
	}

	s = newScene(t, "-- wf/START.md --\n---\nno-such-key: 1\n---\n")
	if e = s.onIssue(3).do(problem.ExitCodes[problem.ClassWorkflow]); !strings.Contains(e.summary, "START.md:4:1") {
		t.Errorf("page of a workflow with a mistake: got\n%s", e.summary)
	}
}
