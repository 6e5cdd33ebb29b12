//go:build linux

package action_test

import (
	"os"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
)

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
	last := s.newest()
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
		if l := s.newest().Run.Last; l == nil || l.Session == nil || l.Session.ID == branched {
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
	done, stored := s.done(), len(s.forge.All())
	s.says(5, 7, "eve", "/raymond as a stranger").do(problem.ExitCodes[problem.ClassDenied])
	s.says(8, 7, "ann", "/raymond of another key").with("key", "other").do(0).WantOutputs(t, "status", "skipped")
	s.says(9, 7, "ann", "/raymond to a step that only resumes").with("resume", "require").do(0).WantOutputs(t, "status", "skipped")
	assert.Check(t, is.Equal(s.done(), done), "after comments that continue nothing")
	assert.Check(t, is.Len(s.forge.All(), stored), "after comments that continue nothing")
	plain := newScene(t, strings.Replace(followed, "on_comment: FOLLOW_UP.md", "model: m", 1))
	plain.onIssue(1).do(0)
	assert.Check(t, is.Nil(plain.newest().Run.Last), "without on_comment") // although the conversation is stored for reruns
}

// TestFollowUpNeedsTheConversation checks that a follow-up is refused if the checkpoint lacks the
// conversation, unless resume-without-transcript is set.
func TestFollowUpNeedsTheConversation(t *testing.T) {
	t.Parallel()
	s := newScene(t, followed)
	public := func(j *bareJob) *bareJob {
		j.Payload = strings.Replace(j.Payload, inPrivate, inPublic, 1)
		return j
	}
	public(s.onIssue(1)).do(0).WantOutputs(t, "status", "completed")
	e := public(s.says(2, 7, "ann", "/raymond more")).do(problem.ExitCodes[problem.ClassDenied])
	e.WantAnnotation(t, "error", "transcripts", "resume-without-transcript")
	assert.Check(t, !strings.Contains(s.done(), "asked"), "states that ran: got %q, want no follow-up", s.done())
	public(s.says(3, 7, "ann", "/raymond more").with("resume-without-transcript", "true")).do(0).WantOutputs(t, "result", "followed")
}
