//go:build linux

package action_test

import (
	"fmt"
	"net/http"
	"os"
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
	return s.onComment(run, s.forge.Comments.AddComment(sitetest.Comment{Number: number, Author: who, Body: body}))
}

// onComment returns the job that a comment starts.
func (s *scene) onComment(run int64, c sitetest.Comment) *bareJob {
	s.t.Helper()
	kind := "User"
	if strings.HasSuffix(c.Author, "[bot]") {
		kind = "Bot"
	}
	return s.onIssue(run).on("issue_comment", event(
		fmt.Sprintf(`"sender":{"login":%q,"type":%q}`, c.Author, kind), `"action":"created"`, fmt.Sprintf(`"issue":{"number":%d}`, c.Number),
		fmt.Sprintf(`"comment":{"id":%d,"body":%q,"user":{"login":%q,"type":%q}}`, c.ID, c.Body, c.Author, kind)))
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
// continues the run, once, and that the comment then names the person who answered. Bots and people
// who may not start the run may not answer and get no comment, and their comments don't keep others
// from answering.
func TestAnswerContinuesTheRun(t *testing.T) {
	t.Parallel()
	s := newScene(t, asksOnce)
	first := s.onIssue(1).do(0)
	first.WantOutputs(t, "status", "suspended", "resumable", "true")
	assert.Check(t, is.Contains(s.question(7).Body, "Shall I go on?"), "question")
	s.says(2, 7, "eve", "/raymond no").do(problem.ExitCodes[problem.ClassDenied]).WantOutputs(t, "error-class", "denied")
	s.says(3, 7, "renovate[bot]", "/raymond no").with("on-denied", "skip").do(0).WantOutputs(t, "status", "skipped")
	other := s.says(4, 7, "eve", "/raymond no") // the sender of the event may start the run, but the author of the comment may not answer
	other.Payload = strings.Replace(other.Payload, `"sender":{"login":"eve"`, `"sender":{"login":"ann"`, 1)
	other.do(0).WantOutputs(t, "status", "suspended")
	s.wantDone("start")
	assert.Check(t, is.Len(s.forge.Comments.By(7, sitetest.JobsAccount), 1), "comments")
	second := s.says(5, 7, "ann", "/raymond YES").do(0)
	second.WantOutputs(t, "status", "completed", "result", "all done", "workflow-id", first.Outputs["workflow-id"])
	s.wantDone("start yes")
	assert.Check(t, is.Contains(s.question(7).Body, "`ann` has answered `yes`."), "question")
	s.says(6, 7, "ann", "/raymond no").do(0).WantOutputs(t, "status", "skipped", "workflow-id", "")
	s.wantDone("start yes")
}

// TestAnswerIsTakenOnce checks that an answer counts once, even if its job is re-run after a later
// answer has completed the run: the re-run returns the outputs of the completed run.
func TestAnswerIsTakenOnce(t *testing.T) {
	t.Parallel()
	s := newForgeScene(t, strings.Replace(asksOnce, "echo '<result>all done</result>'", `echo '<ask next="LAST">And now?</ask>'`, 1)+
		"-- wf/LAST.sh --\n"+`echo "$RAYMOND_RESULT" >>"$EFFECTS"; echo '<result>all done</result>'`+"\n")
	s.onIssue(1).do(0)
	said := s.forge.Comments.AddComment(sitetest.Comment{Number: 7, Author: "ann", Body: "/raymond yes"})
	second := s.onComment(2, said).do(0)
	second.WantOutputs(t, "status", "suspended")
	last := s.forge.Comments.AddComment(sitetest.Comment{Number: 7, Author: "ann", Body: "/raymond end", At: time.Now().Add(time.Second)}) // in a later second than the first answer
	s.onComment(3, last).do(0).WantOutputs(t, "status", "completed")
	e := s.onComment(2, said).set("GITHUB_RUN_ATTEMPT", "2", "GITHUB_TRIGGERING_ACTOR", "ann").do(0)
	e.WantOutputs(t, "status", "completed", "result", "all done", "workflow-id", second.Outputs["workflow-id"])
	s.wantDone("start yes end")
}

// TestRefusedAnswerReleasesTheKey checks that a step that has claimed the key for an answer, but may
// not continue the run, releases the key in its main phase, so that no other job waits for it.
func TestRefusedAnswerReleasesTheKey(t *testing.T) {
	t.Parallel()
	s := newForgeScene(t, asksOnce)
	s.onIssue(1).do(0)
	unpack(t, s.repo, strings.Replace(asksOnce, "Shall I", "May I", 1))
	refused := s.says(2, 7, "ann", "/raymond yes").with("changed-workflow", "refuse").do(problem.ExitCodes[problem.ClassConflict])
	refused.WantAnnotation(t, "error", `"START.sh"`, "changed-workflow: take")
	assert.Check(t, is.Len(s.stored("-claim"), 0), "claims")
}

// TestOtherCommentsStartNothing checks that other comments start nothing, and that only comments
// with the prefix cause requests.
func TestOtherCommentsStartNothing(t *testing.T) {
	t.Parallel()
	s := newForgeScene(t, asksOnce)
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
		s := newForgeScene(t, asksOnce)
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
	s := newForgeScene(t, asksBeside)
	first := s.onIssue(1)
	c := first.start()
	c.Until("the question", func() bool { return len(s.forge.Comments.By(7, sitetest.JobsAccount)) == 1 })
	second := s.says(2, 7, "ann", "/raymond this")
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
	s := newForgeScene(t, asksOnce)
	first := s.onIssue(1)
	var isUp atomic.Bool
	refuse := sitetest.RefuseRequests(`^GET issues/comments/`, 503, "down") // the question exists but can't be read
	s.forge.Comments.Fault = func(w http.ResponseWriter, asked string) bool { return !isUp.Load() && refuse(w, asked) }
	c := first.start()
	c.Until("the question", func() bool { return len(s.forge.Comments.By(7, sitetest.JobsAccount)) == 1 })
	c.Until("the first look", func() bool { return slices.Contains(s.forge.Comments.Requests(), "GET issues/comments/101") })
	second := s.says(2, 7, "ann", "/raymond yes")
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

// asksOnThePull is a workflow whose job publish asks a question on pull request 34, and runs again
// after the answer.
const asksOnThePull = `-- wf/START.sh --
echo start >>"$EFFECTS"; echo '<goto>PUBLISH</goto>'
-- wf/PUBLISH.sh --
# raymond: job=publish ask=where,from,untrusted
echo published >>"$EFFECTS"; echo '<ask next="FOLLOW" where="34" from="author" untrusted="true">What should be different?</ask>'
-- wf/FOLLOW.sh --
echo "$RAYMOND_RESULT" >>"$EFFECTS"; echo '<goto>AGAIN</goto>'
-- wf/AGAIN.sh --
# raymond: job=publish
echo again >>"$EFFECTS"; echo '<result>done</result>'
`

// ofKey returns a job of the workflow file whose key contains the number of its event.
func (s *scene) ofKey(run int64, number int, name string, inputs ...string) *bareJob {
	s.t.Helper()
	inputs = append([]string{"key", fmt.Sprintf("k.issue-%d", number)}, inputs...)
	if name == "publish" {
		inputs = append(inputs, "job", name, "resume", "require", "prompts", "false")
	}
	return s.other(run, name, "job", "", "prompts", "", "resume", "").with(inputs...).
		on("issues", event(person("ann"), `"action":"labeled"`, fmt.Sprintf(`"issue":{"number":%d}`, number)))
}

// TestAnswerOnPullRequestContinuesEachJob checks that a run with the key of issue 12 continues from
// its pull request 34, in each of its jobs, although their own keys contain 34. A third job that
// the comment starts begins nothing. A stranger may answer, because the question allows it.
func TestAnswerOnPullRequestContinuesEachJob(t *testing.T) {
	t.Parallel()
	s := newGitScene(t, asksOnThePull)
	s.forge.Comments.Authors[34] = "eve"
	first := s.ofKey(1, 12, "work").do(0)
	s.ofKey(1, 12, "publish").do(0).WantOutputs(t, "status", "suspended", "next-jobs", "[]")
	s.wantDone("start published")
	said := s.forge.Comments.AddComment(sitetest.Comment{Number: 34, Author: "eve", Body: "/raymond blue"})
	after := func(j *bareJob) *bareJob {
		return j.on("issue_comment", event(person("eve"), `"action":"created"`, `"issue":{"number":34,"pull_request":{}}`,
			fmt.Sprintf(`"comment":{"id":%d,"body":%q,"user":{"login":"eve","type":"User"}}`, said.ID, said.Body)))
	}
	s.forge.Heads[34] = 4711
	triage := after(s.ofKey(2, 34, "triage")).do(0)
	triage.WantOutputs(t, append(nobodyWaits, "status", "skipped", "workflow-id", "")...)
	assert.Check(t, is.Contains(triage.Stdout, "nothing is started: the run with the key k.issue-12 is continued by job work"), "the other job: got %v, want a line that says whose run it is", triage)
	work := after(s.ofKey(2, 34, "work")).do(0)
	work.WantOutputs(t, "status", "suspended", "next-jobs", `["publish"]`, "workflow-id", first.Outputs["workflow-id"])
	s.wantDone("start published blue")
	after(s.ofKey(3, 34, "publish")).do(0).WantOutputs(t, "status", "skipped") // the run was handed over in another workflow run
	s.wantDone("start published blue")
	after(s.ofKey(2, 34, "publish")).do(0).WantOutputs(t, append(nobodyWaits, "status", "completed", "workflow-id", first.Outputs["workflow-id"])...)
	s.wantDone("start published blue again")
	assert.Check(t, s.newest("k.issue-12").Manifest.Untrusted, "the checkout counts as trusted, though a stranger was asked")
	after(s.ofKey(4, 34, "work")).do(0).WantOutputs(t, "status", "skipped")
	s.forge.Comments.AddComment(sitetest.Comment{Number: 12, Author: "eve", Body: "/raymond red"})
	s.ofKey(5, 12, "work").on("issue_comment", event(person("eve"), `"action":"created"`, `"issue":{"number":12}`,
		`"comment":{"id":999,"body":"/raymond red","user":{"login":"eve","type":"User"}}`)).do(0).WantOutputs(t, "status", "skipped")
}

// followed is a workflow whose completed runs are continued by comments. Its work is not committed.
const followed = `-- wf/START.md --
---
on_comment: FOLLOW_UP.md
---
log: start
reply:
<goto>EDIT.sh</goto>
end.
-- wf/EDIT.sh --
echo work >>work.txt; echo '<goto>END.md</goto>'
-- wf/END.md --
log: end
reply:
<result>all done</result>
end.
-- wf/FOLLOW_UP.md --
log: asked {{result}}
reply:
<goto>LOOK.sh</goto>
end.
-- wf/LOOK.sh --
echo more >>work.txt; echo "work: $(cat work.txt)" >>"$EFFECTS"; echo '<result>followed</result>'
`

// TestCommentContinuesACompletedRun checks that a comment continues a completed run in a branch of
// main's last conversation, with the work that the run left, more than once.
func TestCommentContinuesACompletedRun(t *testing.T) {
	t.Parallel()
	s := newGitScene(t, followed)
	first := s.onIssue(1).do(0)
	first.WantOutputs(t, "status", "completed")
	last := s.newest("agent-build.issue-7")
	if l := last.Run.Last; l == nil || l.Session == nil || len(last.Manifest.Transcripts) != 1 || last.Manifest.Transcripts[0].Session != l.Session.ID {
		t.Fatalf("last of the completed run: got %+v and the transcripts %+v, want where it ended, and that conversation", l, last.Manifest.Transcripts)
	}
	branched := last.Run.Last.Session.ID
	for run, want := range []string{"work more", "work more more"} {
		e := s.says(int64(2+run), 7, "ann", "/raymond more").do(0)
		e.WantOutputs(t, "status", "completed", "result", "followed")
		assert.Check(t, e.Outputs["workflow-id"] != first.Outputs["workflow-id"], "workflow id: got the first run's, want a new one")
		_, asked, _ := strings.Cut(s.done(), `all done`) // drops the output of the first run
		assert.Check(t, strings.Contains(asked, "asked Between the fences") && strings.HasSuffix(asked, "work: "+want), "follow-up %d: got %q, want the comment after what was said, and then the work %q", run+1, s.done(), want)
		data, err := os.ReadFile(e.Outputs["events-file"])
		assert.Check(t, err, "events")
		assert.Check(t, is.Contains(string(data), `"session":"branch"`), "events")
		if l := s.newest("agent-build.issue-7").Run.Last; l == nil || l.Session == nil || l.Session.ID == branched {
			t.Errorf("last of follow-up %d: got %+v, want a conversation of its own", run+1, l)
		} else {
			branched = l.Session.ID
		}
	}
	assert.Check(t, is.Equal(strings.Count(s.done(), `"state":"START.md"`), 1), "runs from the first state on")
}

// TestCommentsThatContinueNothing checks comments that continue no completed run: by a sender who
// may not start it, for another key, with resume: require, while no run is completed, and in a
// workflow without on_comment.
func TestCommentsThatContinueNothing(t *testing.T) {
	t.Parallel()
	s := newScene(t, followed)
	s.says(1, 7, "ann", "/raymond before there is any").do(0).WantOutputs(t, "status", "skipped")
	s.onIssue(2, "max-iterations", "1").do(problem.ExitCodes[problem.ClassOverLimit])
	s.says(3, 7, "ann", "/raymond while it can be resumed").do(0).WantOutputs(t, "status", "skipped")
	s.onIssue(4).do(0).WantOutputs(t, "status", "completed")
	done, stored := s.done(), s.newest("agent-build.issue-7").Digest
	s.says(5, 7, "eve", "/raymond as a stranger").do(problem.ExitCodes[problem.ClassDenied])
	s.says(8, 7, "ann", "/raymond of another key").with("key", "other").do(0).WantOutputs(t, "status", "skipped")
	s.says(9, 7, "ann", "/raymond to a step that only resumes").with("resume", "require").do(0).WantOutputs(t, "status", "skipped")
	assert.Check(t, is.Equal(s.done(), done), "after comments that continue nothing")
	assert.Check(t, is.Equal(s.newest("agent-build.issue-7").Digest, stored), "after comments that continue nothing")
	plain := newScene(t, strings.Replace(followed, "on_comment: FOLLOW_UP.md", "model: m", 1))
	plain.onIssue(1).do(0)
	assert.Check(t, is.Nil(plain.newest("agent-build.issue-7").Run.Last), "without on_comment") // although the conversation is stored for reruns
}

// TestFollowUpNeedsTheConversation checks that a follow-up is refused if the checkpoint lacks the
// conversation, unless resume-without-transcript is set.
func TestFollowUpNeedsTheConversation(t *testing.T) {
	t.Parallel()
	s := newScene(t, followed)
	s.onIssue(1).public().do(0).WantOutputs(t, "status", "completed")
	e := s.says(2, 7, "ann", "/raymond more").public().do(problem.ExitCodes[problem.ClassDenied])
	e.WantAnnotation(t, "error", "transcripts", "resume-without-transcript")
	assert.Check(t, !strings.Contains(s.done(), "asked"), "states that ran: got %q, want no follow-up", s.done())
	s.says(3, 7, "ann", "/raymond more").public().with("resume-without-transcript", "true").do(0).WantOutputs(t, "result", "followed")
}
