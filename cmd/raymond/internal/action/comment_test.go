//go:build linux

package action_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sticky"
)

// onIssue is a job that an issue started, with a comment.
func (s *scene) onIssue(run int64, inputs ...string) *bareJob {
	s.t.Helper()
	return s.job(run).racing().with("comment", "sticky").with(inputs...).set("GITHUB_GRAPHQL_URL", s.forge.API.URL+"/api/graphql").
		on("issues", event(person("ann"), `"action":"labeled"`, `"issue":{"number":7}`))
}

// wantComment checks that an issue has one comment of the job's, and what it
// says.
func (s *scene) wantComment(number int, parts ...string) sitetest.Said {
	s.t.Helper()
	ours := s.forge.Talk.By(number, sitetest.JobsAccount)
	if len(ours) != 1 {
		s.t.Fatalf("comments on %d: got %+v, want one\nrequests: %q", number, ours, s.forge.Talk.Requests())
	}
	for _, part := range parts {
		if !strings.Contains(ours[0].Body, part) {
			s.t.Errorf("comment on %d: got\n%s\nwant %q in it", number, ours[0].Body, part)
		}
	}
	return ours[0]
}

// markerOf7 is what the comment on issue 7 begins with.
func (*scene) markerOf7() string {
	return sticky.Marker(".github/workflows/agent.yml", "agent-build.issue-7", "issue", "7")
}

// wantNoTalk checks that nothing was asked about comments.
func (s *scene) wantNoTalk() {
	s.t.Helper()
	if asked := s.forge.Talk.Requests(); len(asked) > 0 {
		s.t.Errorf("requests about comments: got %q, want none", asked)
	}
}

// TestEveryJobOfARunEditsOneComment through a run, its resume on another machine, and the next
// run of the key.
func TestEveryJobOfARunEditsOneComment(t *testing.T) {
	t.Parallel()
	for _, store := range [][]string{nil, {"summary", "false"}, {"state-key", sitetest.NewStateKey(t)}} {
		s := newScene(t, threeScripts)
		first := s.onIssue(1, append(store, "max-iterations", "1")...).do(problem.ExitCodes[problem.ClassOverLimit])
		one := s.wantComment(7, "Over the limit of iterations", first.outputs["workflow-id"], "(<https://example.test/o/r/actions/runs/1/attempts/1>)")
		second := s.onIssue(2, append(store, "max-iterations", "10")...).do(0)
		two := s.wantComment(7, "Completed", "all done", "in 2 parts", "Resumed in", "actions/runs/2/attempts/1")
		if asked := s.forge.Talk.Requests(); slices.Index(asked, "GET issues/comments/101") < 0 {
			t.Errorf("%q: got the requests %q, want the comment asked for by its id", store, asked)
		}
		third := s.onIssue(3, store...).set("GITHUB_RUN_ATTEMPT", "2", "GITHUB_TRIGGERING_ACTOR", "ann").do(0)
		three := s.wantComment(7, "Completed", third.outputs["workflow-id"], "actions/runs/3/attempts/2")
		if one.ID != two.ID || one.ID != three.ID || first.outputs["workflow-id"] != second.outputs["workflow-id"] {
			t.Errorf("%q: got the comments %d, %d and %d, want one", store, one.ID, two.ID, three.ID)
		}
		if got := first.summary == ""; got != slices.Contains(store, "false") {
			t.Errorf("%q: got the summary %q", store, first.summary)
		}
	}
}

// TestEachKeyHasItsComment on each issue and pull request, and no other.
func TestEachKeyHasItsComment(t *testing.T) {
	t.Parallel()
	s := newScene(t, threeScripts)
	onPull := event(person("ann"), fromHome)
	s.onIssue(1).do(0)
	s.onIssue(2, "key", "other").do(0)
	s.onIssue(3, "key", "other").on("issues", event(person("ann"), `"issue":{"number":8}`)).do(0)
	s.onIssue(4).on("pull_request", onPull).do(0)
	s.onIssue(5).on("issue_comment", event(person("ann"), `"issue":{"number":9,"pull_request":{}}`)).do(0)
	for number, want := range map[int]int{7: 3, 8: 1, 9: 1} {
		if got := s.forge.Talk.By(number, sitetest.JobsAccount); len(got) != want {
			t.Errorf("comments on %d: got %+v, want %d", number, got, want)
		}
	}
}

// TestNoCommentUnlessThereIsOneToMake: without the input, without an issue, for
// other modes and for who may not start it, nothing is asked.
func TestNoCommentUnlessThereIsOneToMake(t *testing.T) {
	t.Parallel()
	s := newScene(t, threeScripts)
	s.onIssue(1, "comment", "none").do(0)
	s.onIssue(2, "comment", "").do(0)
	s.onIssue(3, "mode", "lint").do(0)
	s.onIssue(4, "mode", "diagram").do(0)
	denied := event(person("eve"), `"issue":{"number":7}`)
	s.onIssue(5).on("issues", denied).do(problem.ExitCodes[problem.ClassDenied])
	s.onIssue(6, "on-denied", "skip").on("issues", denied).do(0)
	e := s.onIssue(7).on("schedule", event()).do(0)
	e.wantSays(t, "notice", "comment: sticky", "schedule", "no issue or pull request")
	e.wantOutputs(t, "status", "completed")
	e = s.onIssue(8, "comment", "stickie").do(problem.ExitCodes[problem.ClassUsage])
	e.wantSays(t, "error", "input comment", `"stickie"`, "did you mean sticky?")
	s.wantNoTalk()
}

// TestACommentThatIsRefusedIsAWarning: one, that names the permission, after one
// try, and the step is green.
func TestACommentThatIsRefusedIsAWarning(t *testing.T) {
	t.Parallel()
	const notIntegrated = "Resource not accessible by integration"
	for _, test := range []struct {
		pattern string
		status  int
		payload string
		want    []string
	}{
		{"^POST issues", http.StatusForbidden, `"issue":{"number":7}`, []string{"permissions: issues: write", notIntegrated}},
		{"^GET issues", http.StatusForbidden, fromHome, []string{"permissions: pull-requests: write", notIntegrated}},
	} {
		s := newScene(t, threeScripts)
		s.forge.Talk.Fault = sitetest.Refusing(test.pattern, test.status, notIntegrated)
		e := s.onIssue(1).on("issues", event(person("ann"), test.payload)).do(0)
		e.wantSays(t, "warning", append(test.want, "comment")...)
		tries := len(slices.DeleteFunc(s.forge.Talk.Requests(), func(asked string) bool { return !strings.HasPrefix(asked, test.pattern[1:]) }))
		if n := len(e.texts("warning")); n != 1 || tries != 1 {
			t.Errorf("%d to %s: got %q after %d tries, want one warning and one try", test.status, test.pattern, e.texts("warning"), tries)
		}
		e.wantOutputs(t, "status", "completed", "error-class", "")
		s.onIssue(1).command("action-post").Wait()
		if got := len(s.forge.Talk.Requests()); got != tries && test.pattern != "^POST issues" {
			t.Errorf("post: got %d requests, want none", got-tries)
		}
	}
}

// TestGiteaHasTheCommentToo, whose token is another account's, with the id of the
// run alone in the link.
func TestGiteaHasTheCommentToo(t *testing.T) {
	t.Parallel()
	s := newScene(t, threeScripts)
	s.forge.AsGitea()
	s.forge.Talk.Gitea = true
	for run := range int64(2) {
		s.onIssue(1+run).set("GITEA_ACTIONS", "true", "GITHUB_REPOSITORY_ID", "", "GITHUB_GRAPHQL_URL", "").do(0)
	}
	got := s.forge.Talk.By(7, "gitea-actions")
	if len(got) != 1 || !strings.Contains(got[0].Body, "(<https://example.test/o/r/actions/runs/2>)") || got[0].Edits == 0 {
		t.Errorf("comments: got %+v, want one that was edited, with the link of run 2\n%q", got, s.forge.Talk.Requests())
	}
}

// TestTheCommentOutlivesTheSummary: a summary that can't be written is a warning.
func TestTheCommentOutlivesTheSummary(t *testing.T) {
	t.Parallel()
	s := newScene(t, threeScripts)
	j := s.onIssue(1)
	c := j.set("GITHUB_STEP_SUMMARY", "").start()
	e := j.end(c)
	e.wantSays(t, "warning", "step summary")
	e.wantOutputs(t, "status", "completed")
	s.wantComment(7, "Completed", "3 states")
}

// loudFlow ends with a result that is markup, mentions and a marker.
const loudFlow = `-- wf/START.sh --
echo '<goto>LOUD.sh</goto>'
-- wf/LOUD.sh --
printf '<result>'; cat "$GITHUB_WORKSPACE/says" 2>/dev/null || cat says; printf '</result>'
`

// loud is text that a forge would do something for, were it not in code.
func loud(marker string) string {
	return marker + "\n@octocat @o/team #1 o/r#2 GH-3 https://github.com/o/r/issues/4 0123456789abcdef0123456789abcdef01234567\n" +
		"```\n" + marker + "\n~~~\n@ann #5\n````\n` @ann `` #6 ```\n<img src=https://example.com/x.png> </code></pre></details> <!-- \n:tada: $x$ | a | b |\n- [ ] task\n"
}

// outsideCode is a Markdown text without fences and code spans.
func outsideCode(markdown string) string {
	var b strings.Builder
	closing := ""
	for line := range strings.Lines(markdown) {
		run := line[:len(line)-len(strings.TrimLeft(line, "`"))]
		switch {
		case closing != "" && len(run) >= len(closing) && strings.TrimSpace(line[len(run):]) == "":
			closing = ""
		case closing != "":
		case len(run) >= 3 && !strings.Contains(line[len(run):], "`"):
			closing = run
		default:
			b.WriteString(outsideSpans(line))
		}
	}
	return b.String()
}

func outsideSpans(line string) string {
	var b strings.Builder
	for {
		at := strings.IndexByte(line, '`')
		if at < 0 {
			return b.String() + line
		}
		marks := line[at : at+len(line[at:])-len(strings.TrimLeft(line[at:], "`"))]
		b.WriteString(line[:at])
		line = line[at+len(marks):]
		for rest, found := line, false; !found; {
			end := strings.Index(rest, marks)
			if end < 0 {
				break
			}
			after := rest[end:]
			n := len(after) - len(strings.TrimLeft(after, "`"))
			if rest = after[n:]; n == len(marks) {
				line, found = rest, true
			}
		}
	}
}

// TestHostileTextIsQuotedInTheComment: agents' words do nothing there, and what
// others wrote with the marker in it stays theirs.
func TestHostileTextIsQuotedInTheComment(t *testing.T) {
	t.Parallel()
	s := newScene(t, loudFlow+"-- says --\n"+loud((*scene)(nil).markerOf7()))
	marker := s.markerOf7()
	var foreign []sitetest.Said
	for _, author := range []string{"eve", "github-actions", "other[bot]"} {
		s.forge.Talk.Add(7, author, marker+"\nforged")
		foreign = append(foreign, s.forge.Talk.By(7, author)...)
	}
	s.forge.Talk.Add(7, sitetest.JobsAccount, "> "+marker+"\n> quoted")
	quoted := s.forge.Talk.By(7, sitetest.JobsAccount)[0]
	s.onIssue(1, "max-iterations", "1").do(problem.ExitCodes[problem.ClassOverLimit])
	s.onIssue(2, "max-iterations", "5").do(0)
	ours := s.forge.Talk.By(7, sitetest.JobsAccount)
	if len(ours) != 2 || ours[0] != quoted || !strings.HasPrefix(ours[1].Body, marker+"\n") || !strings.Contains(ours[1].Body, "@octocat") {
		t.Fatalf("comments of ours: got %+v, want the one that quotes as it was, and one that begins with %q and has the result", ours, marker)
	}
	for _, f := range foreign {
		if got := s.forge.Talk.By(7, f.Author); len(got) != 1 || got[0] != f {
			t.Errorf("comments of %s: got %+v, want %+v", f.Author, got, f)
		}
	}
	text := outsideCode(strings.TrimPrefix(ours[1].Body, marker))
	for _, bad := range []string{"@", "#1", "#2", "GH-3", "issues/4", "0123456789abcdef", "<img", "<!--", "</code>", "$x$", "task", ":tada:"} {
		if strings.Contains(text, bad) {
			t.Errorf("comment: got %q outside of code:\n%s\nall of it:\n%s", bad, text, ours[1].Body)
		}
	}
}

// TestSecretsAreNotInTheComment.
func TestSecretsAreNotInTheComment(t *testing.T) {
	t.Parallel()
	f := sitetest.NewForge(t)
	j := hostileJob(t, f, 1, hostileFlow).with("comment", "sticky").set("GITHUB_GRAPHQL_URL", f.API.URL+"/api/graphql").
		on("issues", event(person("ann"), `"issue":{"number":7}`))
	j.sayer("End", "said", "<result>"+strings.Join(j.ofSecrets(forms), "\n")+"</result>")
	j.do(0)
	got := f.Talk.By(7, sitetest.JobsAccount)
	if len(got) != 1 || !strings.Contains(got[0].Body, "***") {
		t.Fatalf("comments: got %+v, want one with stars for the secrets", got)
	}
	j.wantNoLeaks("comment", got[0].Body)
	if text := outsideCode(got[0].Body); strings.Contains(text, "injected") {
		t.Errorf("comment: got %q outside of code", text)
	}
}
