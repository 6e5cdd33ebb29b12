//go:build linux

package action_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
)

// asksOnce asks one question, and notes what was answered.
const asksOnce = `-- wf/START.sh --
echo start >>"$EFFECTS"; echo '<ask next="NEXT.sh" choices="yes, no">Shall I go on?</ask>'
-- wf/NEXT.sh --
echo "$RAYMOND_RESULT" >>"$EFFECTS"; echo '<result>all done</result>'
`

// talking is a job that an issue started, and may write comments.
func (s *scene) talking(run int64, inputs ...string) *bareJob {
	s.t.Helper()
	return s.job(run, inputs...).set("GITHUB_GRAPHQL_URL", s.forge.API.URL+"/api/graphql").
		on("issues", event(person("ann"), `"action":"labeled"`, `"issue":{"number":7}`))
}

// says has somebody comment, and returns the job that the comment starts.
func (s *scene) says(run int64, number int, who, body string) *bareJob {
	s.t.Helper()
	said := s.forge.Talk.Say(sitetest.Said{Number: number, Author: who, Body: body})
	return s.heard(run, said)
}

// heard is the job that is started by something that was said.
func (s *scene) heard(run int64, said sitetest.Said) *bareJob {
	s.t.Helper()
	kind := "User"
	if strings.HasSuffix(said.Author, "[bot]") {
		kind = "Bot"
	}
	return s.talking(run).on("issue_comment", event(
		fmt.Sprintf(`"sender":{"login":%q,"type":%q}`, said.Author, kind), `"action":"created"`, fmt.Sprintf(`"issue":{"number":%d}`, said.Number),
		fmt.Sprintf(`"comment":{"id":%d,"body":%q,"user":{"login":%q,"type":%q}}`, said.ID, said.Body, said.Author, kind)))
}

// question is the one comment of ours with a question on an issue.
func (s *scene) question(number int) sitetest.Said {
	s.t.Helper()
	var all []sitetest.Said
	for _, c := range s.forge.Talk.By(number, sitetest.JobsAccount) {
		if strings.HasPrefix(c.Body, "<!-- raymond-question ") {
			all = append(all, c)
		}
	}
	if len(all) != 1 {
		s.t.Fatalf("questions on %d: got %+v, want one\nrequests: %q", number, all, s.forge.Talk.Requests())
	}
	return all[0]
}

// TestAnAnswerContinuesTheRun: the question is a comment, an answer to it continues the
// run, once, and the comment then says who has answered.
func TestAnAnswerContinuesTheRun(t *testing.T) {
	t.Parallel()
	s := newScene(t, asksOnce)
	first := s.talking(1).do(0)
	first.wantOutputs(t, "status", "suspended", "resumable", "true")
	q := s.question(7)
	for _, want := range []string{"Question 1", "Shall I go on?", "`/raymond yes`", "`/raymond no`", "`/raymond 1 yes`"} {
		if !strings.Contains(q.Body, want) {
			t.Errorf("question: got\n%s\nwant %q in it", q.Body, want)
		}
	}
	second := s.says(2, 7, "ann", "/raymond YES").do(0)
	second.wantOutputs(t, "status", "completed", "result", "all done", "workflow-id", first.outputs["workflow-id"])
	s.wantDone("start yes")
	if body := s.question(7).Body; !strings.Contains(body, "`ann` has answered `yes`.") || strings.Contains(body, "To answer") {
		t.Errorf("question: got\n%s\nwant who has answered, and no more how to", body)
	}
	third := s.says(3, 7, "ann", "/raymond no").do(0)
	third.wantOutputs(t, "status", "skipped", "workflow-id", "")
	s.wantDone("start yes")
}
