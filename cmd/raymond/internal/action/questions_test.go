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

// asksOnce asks one question, and notes what was answered.
const asksOnce = `-- wf/START.sh --
echo start >>"$EFFECTS"; echo '<ask next="NEXT.sh" choices="yes, no">Shall I go on?</ask>'
-- wf/NEXT.sh --
echo "$RAYMOND_RESULT" >>"$EFFECTS"; echo '<result>all done</result>'
`

// says has somebody comment, and returns the job that the comment starts.
func (s *scene) says(run int64, number int, who, body string) *bareJob {
	s.t.Helper()
	said := s.forge.Talk.Say(sitetest.Said{Number: number, Author: who, Body: body})
	return s.heard(run, said)
}

// heard is the job that is started by something that was said.
func (s *scene) heard(run int64, said sitetest.Said) *bareJob {
	s.t.Helper()
	return s.onIssue(run).on("issue_comment", s.payloadOf(said))
}

// payloadOf is the payload of a comment's event.
func (s *scene) payloadOf(said sitetest.Said) string {
	kind := "User"
	if strings.HasSuffix(said.Author, "[bot]") {
		kind = "Bot"
	}
	return event(
		fmt.Sprintf(`"sender":{"login":%q,"type":%q}`, said.Author, kind), `"action":"created"`, fmt.Sprintf(`"issue":{"number":%d}`, said.Number),
		fmt.Sprintf(`"comment":{"id":%d,"body":%q,"user":{"login":%q,"type":%q}}`, said.ID, said.Body, said.Author, kind))
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

// TestAnAnswerIsTakenOnce, also where the job that took it is run again after another answer has
// completed the run: that one's outputs are given.
func TestAnAnswerIsTakenOnce(t *testing.T) {
	t.Parallel()
	s := newScene(t, strings.Replace(asksOnce, "echo '<result>all done</result>'", `echo '<ask next="LAST">And now?</ask>'`, 1)+
		"-- wf/LAST.sh --\n"+`echo "$RAYMOND_RESULT" >>"$EFFECTS"; echo '<result>all done</result>'`+"\n")
	s.onIssue(1).do(0)
	said := s.forge.Talk.Say(sitetest.Said{Number: 7, Author: "ann", Body: "/raymond yes"})
	second := s.heard(2, said).do(0)
	second.WantOutputs(t, "status", "suspended")
	last := s.forge.Talk.Say(sitetest.Said{Number: 7, Author: "ann", Body: "/raymond end", At: time.Now().Add(time.Second)}) // no more the second of the first answer
	s.heard(3, last).do(0).WantOutputs(t, "status", "completed")
	e := s.heard(2, said).set("GITHUB_RUN_ATTEMPT", "2", "GITHUB_TRIGGERING_ACTOR", "ann").do(0)
	e.WantOutputs(t, "status", "completed", "result", "all done", "workflow-id", second.Outputs["workflow-id"])
	s.wantDone("start yes end")
}

// TestWhatIsNoAnswer starts nothing, and only what begins with the prefix costs a question
// to anybody.
func TestWhatIsNoAnswer(t *testing.T) {
	t.Parallel()
	s := newScene(t, asksOnce)
	before := len(s.forge.Questions())
	for run, body := range []string{"looks good", "> /raymond yes"} {
		s.says(int64(run+1), 7, "eve", body).do(0).WantOutputs(t, "status", "skipped", "waiting", "[]", "next-jobs", "[]")
	}
	assert.Check(t, is.Len(s.forge.Questions(), before), "requests")
	e := s.says(9, 7, "eve", "/raymond yes").do(0)
	e.WantOutputs(t, "status", "skipped")
	assert.Check(t, is.Contains(e.Stdout, "no question of a run is open here"))
	s.wantDone("")
	assert.Check(t, is.Len(s.forge.All(), 0), "stored")
	assert.Check(t, is.Len(s.forge.Talk.By(7, sitetest.JobsAccount), 0), "comments")
}

// TestWhoMayAnswer: who may not start the run may not answer, and is not spoken to; bots
// neither. What they wrote is in nobody's way.
func TestWhoMayAnswer(t *testing.T) {
	t.Parallel()
	s := newScene(t, asksOnce)
	s.onIssue(1).do(0)
	s.says(2, 7, "eve", "/raymond yes").do(problem.ExitCodes[problem.ClassDenied]).WantOutputs(t, "error-class", "denied")
	s.says(3, 7, "renovate[bot]", "/raymond yes").with("on-denied", "skip").do(0).WantOutputs(t, "status", "skipped")
	// An event of a bystander wakes the step, and what it says is no answer.
	said := s.forge.Talk.Say(sitetest.Said{Number: 7, Author: "eve", Body: "/raymond yes"})
	e := s.heard(4, said)
	e.Payload = strings.Replace(e.Payload, `"sender":{"login":"eve"`, `"sender":{"login":"ann"`, 1)
	e.do(0).WantOutputs(t, "status", "suspended")
	s.wantDone("start")
	assert.Check(t, is.Len(s.forge.Talk.By(7, sitetest.JobsAccount), 1), "comments")
	s.says(5, 7, "ann", "/raymond no").do(0).WantOutputs(t, "status", "completed")
	s.wantDone("start no")
}

// TestTheMarkOfAQuestionLeadsToItsRun: where names another issue, and the answer there
// continues the run that has the key of this one.
func TestTheMarkOfAQuestionLeadsToItsRun(t *testing.T) {
	t.Parallel()
	s := newScene(t, strings.NewReplacer("echo start", "# raymond: ask=where\necho start", "<ask ", `<ask where="34" `).Replace(asksOnce))
	first := s.onIssue(1).do(0)
	q := s.question(34)
	// Copied elsewhere, by whomever, it leads nowhere.
	for author, number := range map[string]int{"eve": 56, sitetest.JobsAccount: 57} {
		s.forge.Talk.Say(sitetest.Said{Number: number, Author: author, Body: q.Body})
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
	s.wantDone("start yes") // the older comment came first
	second.command("action-post").Wait()
}

// TestAnswersWhoseJobIsGone are found by the next step, whatever its event, and the oldest
// one counts.
func TestAnswersWhoseJobIsGone(t *testing.T) {
	t.Parallel()
	s := newScene(t, asksOnce)
	s.onIssue(1).do(0)
	s.forge.Talk.Say(sitetest.Said{Number: 7, Author: "eve", Body: "/raymond no"})
	s.forge.Talk.Add(7, "root", "> Shall I go on?\n\n/raymond yes")
	s.forge.Talk.Add(7, "ann", "/raymond no")
	s.onIssue(2).on("schedule", event()).with("key", "agent-build.issue-7").do(0).WantOutputs(t, "status", "completed")
	s.wantDone("start yes")
}

// TestAnAnswerToARunThatCantContinue is told so once, and the step is the error that it is: where
// the checkpoint is damaged, and where it is gone. No new run begins.
func TestAnAnswerToARunThatCantContinue(t *testing.T) {
	t.Parallel()
	for says, class := range map[string]problem.Class{"can't be taken": problem.ClassBadState, "expired or was deleted": problem.ClassUsage} {
		s := newScene(t, asksOnce)
		s.onIssue(1).do(0)
		if class == problem.ClassUsage {
			later := sitetest.NewForge(t) // which has the comments, and no artifacts any more
			later.Talk = s.forge.Talk
			s.forge = later
		} else {
			last := s.forge.All()[len(s.forge.All())-1]
			s.forge.Put(artifactstest.Artifact{Run: 1, Name: last.Name, Content: last.Content[:len(last.Content)-30]})
		}
		for run := int64(2); run < 4; run++ {
			s.says(run, 7, "ann", "/raymond yes").do(problem.ExitCodes[class]).WantOutputs(t, "error-class", string(class))
		}
		got := s.forge.Talk.By(7, sitetest.JobsAccount)
		assert.Assert(t, is.Len(got, 2), "comments")
		assert.Check(t, is.Contains(got[1].Body, says), "comments")
		s.wantDone("start")
	}
}

// asksBeside asks while another agent works.
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

// TestAnAnswerWhileTheRunIsDriven: its own step ends at once, and the job that drives the
// run takes it.
func TestAnAnswerWhileTheRunIsDriven(t *testing.T) {
	t.Parallel()
	s := newScene(t, asksBeside)
	first, second := s.onIssue(1), s.onIssue(2)
	c := first.start()
	c.Until("the question", func() bool { return len(s.forge.Talk.By(7, sitetest.JobsAccount)) == 1 })
	said := s.forge.Talk.Say(sitetest.Said{Number: 7, Author: "ann", Body: "/raymond this"})
	second.on("issue_comment", s.payloadOf(said))
	e := second.do(0)
	e.WantOutputs(t, "status", "skipped")
	assert.Check(t, is.Contains(e.Stdout, "finds this comment by itself"), "the step of the answer")
	s.letGo()
	first.end(c).WantOutputs(t, "status", "completed")
	s.wantDone("asked this")
}

// TestAnAnswerToAJobThatMayLeave: while all agents wait, the step of an answer stays until
// it is clear which job takes the answer, and one does.
func TestAnAnswerToAJobThatMayLeave(t *testing.T) {
	t.Parallel()
	s := newScene(t, asksOnce)
	first, second := s.onIssue(1), s.onIssue(2)
	var isUp atomic.Bool
	refuse := sitetest.Refusing(`^GET issues/comments/`, 503, "down") // its comment is there, and can't be read
	s.forge.Talk.Fault = func(w http.ResponseWriter, asked string) bool { return !isUp.Load() && refuse(w, asked) }
	c := first.start()
	c.Until("the question", func() bool { return len(s.forge.Talk.By(7, sitetest.JobsAccount)) == 1 })
	c.Until("the first look", func() bool { return slices.Contains(s.forge.Talk.Requests(), "GET issues/comments/101") })
	said := s.forge.Talk.Say(sitetest.Said{Number: 7, Author: "ann", Body: "/raymond yes"})
	second.on("issue_comment", s.payloadOf(said))
	d := second.start()
	looks := func() (n int) {
		for _, q := range s.forge.Questions() {
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
