//go:build linux

package action_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/artifacts/artifactstest"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
)

// asksOnce is a workflow that asks one question and records the answer.
const asksOnce = `-- wf/START.sh --
echo start >>"$EFFECTS"; echo '<ask next="NEXT.sh" choices="yes, no">Shall I go on?</ask>'
-- wf/NEXT.sh --
echo "$RAYMOND_RESULT" >>"$EFFECTS"; echo '<result>all done</result>'
`

// says posts a comment and returns the job that the comment starts.
func (s *scene) says(run int64, number int, who, body string) *bareJob {
	s.t.Helper()
	said := s.forge.Comments.AddComment(sitetest.Comment{Number: number, Author: who, Body: body})
	return s.heard(run, said)
}

// heard returns the job that a comment starts.
func (s *scene) heard(run int64, said sitetest.Comment) *bareJob {
	s.t.Helper()
	return s.onIssue(run).on("issue_comment", s.payloadOf(said))
}

// payloadOf returns the payload of a comment event.
func (s *scene) payloadOf(said sitetest.Comment) string {
	kind := "User"
	if strings.HasSuffix(said.Author, "[bot]") {
		kind = "Bot"
	}
	return event(
		fmt.Sprintf(`"sender":{"login":%q,"type":%q}`, said.Author, kind), `"action":"created"`, fmt.Sprintf(`"issue":{"number":%d}`, said.Number),
		fmt.Sprintf(`"comment":{"id":%d,"body":%q,"user":{"login":%q,"type":%q}}`, said.ID, said.Body, said.Author, kind))
}

// question returns the only question that the job's account has posted on an issue.
func (s *scene) question(number int) sitetest.Comment {
	s.t.Helper()
	var all []sitetest.Comment
	for _, c := range s.forge.Comments.By(number, sitetest.JobsAccount) {
		if strings.HasPrefix(c.Body, "<!-- raymond-question ") {
			all = append(all, c)
		}
	}
	if len(all) != 1 {
		s.t.Fatalf("questions on %d: got %+v, want one\nrequests: %q", number, all, s.forge.Comments.Requests())
	}
	return all[0]
}

// TestAnswerContinuesTheRun checks that a question is posted as a comment, that an answer to it
// continues the run, once, and that the comment then names the person who answered.
func TestAnswerContinuesTheRun(t *testing.T) {
	t.Parallel()
	s := newScene(t, asksOnce)
	first := s.onIssue(1).do(0)
	first.WantOutputs(t, "status", "suspended", "resumable", "true")
	assert.Check(t, is.Contains(s.question(7).Body, "Shall I go on?"), "question")
	second := s.says(2, 7, "ann", "/raymond YES").do(0)
	second.WantOutputs(t, "status", "completed", "result", "all done", "workflow-id", first.Outputs["workflow-id"])
	s.wantDone("start yes")
	assert.Check(t, is.Contains(s.question(7).Body, "`ann` has answered `yes`."), "question")
	third := s.says(3, 7, "ann", "/raymond no").do(0)
	third.WantOutputs(t, "status", "skipped", "workflow-id", "")
	s.wantDone("start yes")
}

// TestAnswerIsTakenOnce checks that an answer counts once, even if its job is re-run after a later
// answer has completed the run: the re-run returns the outputs of the completed run.
func TestAnswerIsTakenOnce(t *testing.T) {
	t.Parallel()
	s := newScene(t, strings.Replace(asksOnce, "echo '<result>all done</result>'", `echo '<ask next="LAST">And now?</ask>'`, 1)+
		"-- wf/LAST.sh --\n"+`echo "$RAYMOND_RESULT" >>"$EFFECTS"; echo '<result>all done</result>'`+"\n")
	s.onIssue(1).do(0)
	said := s.forge.Comments.AddComment(sitetest.Comment{Number: 7, Author: "ann", Body: "/raymond yes"})
	second := s.heard(2, said).do(0)
	second.WantOutputs(t, "status", "suspended")
	last := s.forge.Comments.AddComment(sitetest.Comment{Number: 7, Author: "ann", Body: "/raymond end", At: time.Now().Add(time.Second)}) // in a later second than the first answer
	s.heard(3, last).do(0).WantOutputs(t, "status", "completed")
	e := s.heard(2, said).set("GITHUB_RUN_ATTEMPT", "2", "GITHUB_TRIGGERING_ACTOR", "ann").do(0)
	e.WantOutputs(t, "status", "completed", "result", "all done", "workflow-id", second.Outputs["workflow-id"])
	s.wantDone("start yes end")
}

// TestOtherCommentsStartNothing checks that other comments start nothing, and that only comments
// with the prefix cause requests.
func TestOtherCommentsStartNothing(t *testing.T) {
	t.Parallel()
	s := newScene(t, asksOnce)
	before := len(s.forge.AllRequests())
	for run, body := range []string{"looks good", "> /raymond yes"} {
		s.says(int64(run+1), 7, "eve", body).do(0).WantOutputs(t, "status", "skipped", "waiting", "[]", "next-jobs", "[]")
	}
	assert.Check(t, is.Len(s.forge.AllRequests(), before), "requests")
	e := s.says(9, 7, "eve", "/raymond yes").do(0)
	e.WantOutputs(t, "status", "skipped")
	assert.Check(t, is.Contains(e.Stdout, "no question of a run is open here"))
	s.wantDone("")
	assert.Check(t, is.Len(s.forge.All(), 0), "stored")
	assert.Check(t, is.Len(s.forge.Comments.By(7, sitetest.JobsAccount), 0), "comments")
}

// TestWhoMayAnswer checks that bots and people who may not start the run may not answer and get no
// comment, and that their comments don't keep others from answering.
func TestWhoMayAnswer(t *testing.T) {
	t.Parallel()
	s := newScene(t, asksOnce)
	s.onIssue(1).do(0)
	s.says(2, 7, "eve", "/raymond yes").do(problem.ExitCodes[problem.ClassDenied]).WantOutputs(t, "error-class", "denied")
	s.says(3, 7, "renovate[bot]", "/raymond yes").with("on-denied", "skip").do(0).WantOutputs(t, "status", "skipped")
	// The sender of this event may start the run, but the author of the comment may not answer.
	said := s.forge.Comments.AddComment(sitetest.Comment{Number: 7, Author: "eve", Body: "/raymond yes"})
	e := s.heard(4, said)
	e.Payload = strings.Replace(e.Payload, `"sender":{"login":"eve"`, `"sender":{"login":"ann"`, 1)
	e.do(0).WantOutputs(t, "status", "suspended")
	s.wantDone("start")
	assert.Check(t, is.Len(s.forge.Comments.By(7, sitetest.JobsAccount), 1), "comments")
	s.says(5, 7, "ann", "/raymond no").do(0).WantOutputs(t, "status", "completed")
	s.wantDone("start no")
}

// TestQuestionMarkerLeadsToItsRun checks that a question can be posted on another issue, and that
// an answer there continues the run with the key of the first issue.
func TestQuestionMarkerLeadsToItsRun(t *testing.T) {
	t.Parallel()
	s := newScene(t, strings.NewReplacer("echo start", "# raymond: ask=where\necho start", "<ask ", `<ask where="34" `).Replace(asksOnce))
	first := s.onIssue(1).do(0)
	q := s.question(34)
	// A copy of the question on another issue leads nowhere, regardless of its author.
	for author, number := range map[string]int{"eve": 56, sitetest.JobsAccount: 57} {
		s.forge.Comments.AddComment(sitetest.Comment{Number: number, Author: author, Body: q.Body})
		e := s.says(int64(number), number, "ann", "/raymond yes").do(0)
		e.WantOutputs(t, "status", "skipped")
		assert.Check(t, is.Contains(e.Stdout, "no question"), "on %d", number)
	}
	other := s.says(4, 34, "ann", "/raymond yes").set("GITHUB_JOB", "triage").do(0)
	other.WantOutputs(t, "status", "skipped")
	assert.Check(t, is.Contains(other.Stdout, "job build"), "another job")
	s.wantDone("start")
	second := s.says(6, 34, "ann", "/raymond no")
	second.do(0).WantOutputs(t, "status", "completed", "workflow-id", first.Outputs["workflow-id"])
	s.wantDone("start yes") // the older comment counts
	second.command("action-post").Wait()
}

// TestLaterStepFindsAnswers checks that the next step, whatever its event, finds answers whose own
// jobs were lost, and that the oldest answer counts.
func TestLaterStepFindsAnswers(t *testing.T) {
	t.Parallel()
	s := newScene(t, asksOnce)
	s.onIssue(1).do(0)
	s.forge.Comments.AddComment(sitetest.Comment{Number: 7, Author: "eve", Body: "/raymond no"})
	s.forge.Comments.Add(7, "root", "> Shall I go on?\n\n/raymond yes")
	s.forge.Comments.Add(7, "ann", "/raymond no")
	s.onIssue(2).on("schedule", event()).with("key", "agent-build.issue-7").do(0).WantOutputs(t, "status", "completed")
	s.wantDone("start yes")
}

// TestAnswerToABrokenRun checks that an answer to a run with a damaged or deleted checkpoint gets
// one comment with the reason, that the step fails, and that no new run begins.
func TestAnswerToABrokenRun(t *testing.T) {
	t.Parallel()
	for says, class := range map[string]problem.Class{"can't be used": problem.ClassBadState, "expired or was deleted": problem.ClassUsage} {
		s := newScene(t, asksOnce)
		s.onIssue(1).do(0)
		if class == problem.ClassUsage {
			later := sitetest.NewForge(t) // has the comments, but no artifacts
			later.Comments = s.forge.Comments
			s.forge = later
		} else {
			last := s.forge.All()[len(s.forge.All())-1]
			s.forge.Put(artifactstest.Artifact{Run: 1, Name: last.Name, Content: last.Content[:len(last.Content)-30]})
		}
		for run := int64(2); run < 4; run++ {
			s.says(run, 7, "ann", "/raymond yes").do(problem.ExitCodes[class]).WantOutputs(t, "error-class", string(class))
		}
		got := s.forge.Comments.By(7, sitetest.JobsAccount)
		assert.Assert(t, is.Len(got, 2), "comments")
		assert.Check(t, is.Contains(got[1].Body, says), "comments")
		s.wantDone("start")
	}
}

// asksBeside is a workflow that asks a question while another agent works.
const asksBeside = `-- wf/START.sh --
# raymond: many_forks=true
echo '<fork next="ASK.sh">WORK.sh</fork>'
-- wf/ASK.sh --
echo asked >>"$EFFECTS"; echo '<ask next="NEXT.sh">What?</ask>'
-- wf/WORK.sh --
while ! test -e "$EFFECTS.go"; do sleep 0.05; done
echo '<result>worked</result>'
-- wf/NEXT.sh --
echo "$RAYMOND_RESULT" >>"$EFFECTS"; echo '<result>all done</result>'
`

// TestAnswerWhileTheRunIsDriven checks that the step of an answer ends at once, and that the job
// that drives the run takes the answer.
func TestAnswerWhileTheRunIsDriven(t *testing.T) {
	t.Parallel()
	s := newScene(t, asksBeside)
	first, second := s.onIssue(1), s.onIssue(2)
	c := first.start()
	c.Until("the question", func() bool { return len(s.forge.Comments.By(7, sitetest.JobsAccount)) == 1 })
	said := s.forge.Comments.AddComment(sitetest.Comment{Number: 7, Author: "ann", Body: "/raymond this"})
	second.on("issue_comment", s.payloadOf(said))
	e := second.do(0)
	e.WantOutputs(t, "status", "skipped")
	assert.Check(t, is.Contains(e.Stdout, "will read this comment"), "the step of the answer")
	s.letGo()
	first.end(c).WantOutputs(t, "status", "completed")
	s.wantDone("asked this")
}

// TestAnswerWhileAllAgentsWait checks that while all agents wait, the step of an answer waits until
// it is clear which job takes the answer, and that exactly one job does.
func TestAnswerWhileAllAgentsWait(t *testing.T) {
	t.Parallel()
	s := newScene(t, asksOnce)
	first, second := s.onIssue(1), s.onIssue(2)
	var isUp atomic.Bool
	refuse := sitetest.RefuseRequests(`^GET issues/comments/`, 503, "down") // the question exists but can't be read
	s.forge.Comments.Fault = func(w http.ResponseWriter, asked string) bool { return !isUp.Load() && refuse(w, asked) }
	c := first.start()
	c.Until("the question", func() bool { return len(s.forge.Comments.By(7, sitetest.JobsAccount)) == 1 })
	c.Until("the first look", func() bool { return slices.Contains(s.forge.Comments.Requests(), "GET issues/comments/101") })
	said := s.forge.Comments.AddComment(sitetest.Comment{Number: 7, Author: "ann", Body: "/raymond yes"})
	second.on("issue_comment", s.payloadOf(said))
	d := second.start()
	looks := func() (n int) {
		for _, q := range s.forge.AllRequests() {
			if strings.HasPrefix(q, "GET /api/repos/o/r/actions/runs/1") {
				n++
			}
		}
		return n
	}
	d.Until("the second look for the other job", func() bool { return looks() >= 2 })
	isUp.Store(true)
	first.end(c).WantOutputs(t, "status", "completed")
	assert.Check(t, is.Contains(second.end(d).Stdout, "nothing is started"), "the step of the answer")
	s.wantDone("start yes")
}
