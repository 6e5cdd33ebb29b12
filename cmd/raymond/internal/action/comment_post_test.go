//go:build linux

package action_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
)

// waiting is a workflow whose second state waits until $GATE is there.
const waiting = `-- wf/START.sh --
echo '<goto>WAIT.sh</goto>'
-- wf/WAIT.sh --
touch "$GATE.reached"
while [ ! -e "$GATE" ]; do sleep 0.02; done
echo '<result>all done</result>'
`

// stage is a scene with a job that waits in its second state.
type stage struct {
	*scene
	gate string
}

func newStage(t *testing.T) *stage {
	t.Helper()
	return &stage{newScene(t, waiting), filepath.Join(t.TempDir(), "gate")}
}

// job is one of the stage, started by an issue.
func (s *stage) job(run int64, inputs ...string) *bareJob {
	s.t.Helper()
	return s.onIssue(run, inputs...).set("GATE", s.gate).with("env", "GATE")
}

// reached waits until the job waits and its comment, if it has one, is there.
func (s *stage) reached(c *sitetest.Command, comments int) {
	s.t.Helper()
	c.Until("the wait of the job, with its comment", func() bool {
		return sitetest.Exists(s.gate+".reached") && len(s.forge.Talk.By(7, sitetest.JobsAccount)) == comments
	})
}

// open lets the jobs that wait continue.
func (s *stage) open() {
	s.t.Helper()
	if err := os.WriteFile(s.gate, nil, 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// TestThePageIsCompleteAfterAKill: the summary that was written by then stays,
// the post part adds how it ended, and brings the comment to its end. A later run
// edits the same comment.
func TestThePageIsCompleteAfterAKill(t *testing.T) {
	t.Parallel()
	for _, store := range []string{"artifact", "local"} {
		s := newStage(t)
		local := []string{}
		if store == "local" {
			local = []string{"store", "local", "state-dir", t.TempDir()}
		}
		j := s.job(1, local...)
		c := j.start()
		s.reached(c, 1)
		c.Kill()
		if got := j.read(j.commandFile("GITHUB_STEP_SUMMARY")); !strings.Contains(got, "Running") {
			t.Errorf("%s: summary of the killed step: got %q, want one of a run under way", store, got)
		}
		one := s.wantComment(7, "Running")
		post := j.end(j.command("action-post"))
		words := []string{"Cancelled", "the step was killed before the run had stopped", "Next:", "2 states", "1 agent"}
		if store == "artifact" {
			words = append(words, "`key: agent-build.issue-7`")
		}
		two := s.wantComment(7, append(words, "actions/runs/1/attempts/1")...)
		for _, word := range words {
			if !strings.Contains(post.summary, word) {
				t.Errorf("%s: summary of the post part: got %q, want %q in it", store, post.summary, word)
			}
		}
		if post.Code != 0 || one.ID != two.ID || len(post.texts("warning"))+len(post.texts("error")) > 0 {
			t.Errorf("%s: post: got %v, comments %d and %d; want success and one", store, post, one.ID, two.ID)
		}
		again := j.end(j.command("action-post"))
		if got := s.wantComment(7); again.summary != "" || got.Edits != two.Edits {
			t.Errorf("%s: post once more: got the summary %q and %d edits, want nothing new", store, again.summary, got.Edits-two.Edits)
		}
		s.open()
		s.job(2, local...).do(0)
		if got := s.wantComment(7, "Completed", "all done", "Resumed in", "actions/runs/2/"); got.ID != one.ID {
			t.Errorf("%s: comment of the next job: got %d, want %d", store, got.ID, one.ID)
		}
	}
}

// TestPostLeavesAFinishedPageAlone: after a main part that came to its end it
// asks nothing about comments, and writes no summary.
func TestPostLeavesAFinishedPageAlone(t *testing.T) {
	t.Parallel()
	for _, inputs := range [][]string{nil, {"max-iterations", "1"}} {
		s := newScene(t, threeScripts)
		j := s.onIssue(1, inputs...)
		j.end(j.start())
		before := len(s.forge.Talk.Requests())
		post := j.end(j.command("action-post"))
		if asked := s.forge.Talk.Requests()[before:]; post.Code != 0 || post.summary != "" || len(asked) > 0 {
			t.Errorf("%q: post: got %v, summary %q, requests %q; want nothing", inputs, post, post.summary, asked)
		}
	}
}

// TestPostOfAnotherStepLeavesThePageAlone: in a folder that steps share, each
// completes its own.
func TestPostOfAnotherStepLeavesThePageAlone(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	dir := t.TempDir()
	c := s.job(1, "store", "local", "state-dir", dir).start()
	s.reached(c, 1)
	c.Kill()
	before := s.wantComment(7, "Running")
	other := s.job(2, "store", "local", "state-dir", dir)
	post := other.end(other.command("action-post"))
	if got := s.wantComment(7); got != before || post.summary != "" {
		t.Errorf("post of another step: got %+v and the summary %q, want %+v and none", got, post.summary, before)
	}
}

// TestACancelledStepDoesNotWaitForTheComment: it leaves though the service doesn't answer,
// and the post part writes the last text. TestACancelledStepHasSecondsForTheComment says
// within which time.
func TestACancelledStepDoesNotWaitForTheComment(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	j := s.job(1)
	c := j.start()
	s.reached(c, 1)
	s.forge.Talk.Set(func(k *sitetest.Talk) { k.Hangs = func(string) bool { return true } })
	c.Signal(syscall.SIGINT)
	e := j.end(c)
	if e.outputs["status"] != "cancelled" || e.says("warning", "comment") {
		t.Errorf("cancelled step: got %v, want it without a warning about the comment", e)
	}
	s.forge.Talk.Set(func(k *sitetest.Talk) { k.Hangs = nil })
	s.wantComment(7, "Running")
	post := j.end(j.command("action-post"))
	s.wantComment(7, "Cancelled", "SIGINT", "Next:")
	if post.Code != 0 || (post.summary != "") != post.stores() {
		t.Errorf("post: got %v and the summary %q, want success, and a summary only where it has stored the run", post, post.summary)
	}
}

// stores reports whether a post part has stored the run: a cancelled main part has seconds for
// that, which a busy machine may not keep.
func (e ended) stores() bool { return strings.Contains(e.Stdout, "stored ") }

// TestTheLastTextOfACancelledStep is written by its main part, and by the post part where that
// has found more to do.
func TestTheLastTextOfACancelledStep(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	j := s.job(1)
	c := j.start()
	s.reached(c, 1)
	c.Signal(syscall.SIGINT)
	e := j.end(c)
	before := s.wantComment(7)
	post := j.end(j.command("action-post"))
	after := s.wantComment(7, "Cancelled", "SIGINT")
	isWritten := strings.Contains(before.Body, "Cancelled")
	if isEdited := after.Edits > before.Edits; isEdited != (!isWritten || post.stores()) {
		t.Errorf("post: edited: %v, after a main part that wrote the last text: %v\n%v\n%v", isEdited, isWritten, e, post)
	}
}

// TestAnErrorThatNoEventTellsIsInTheComment: a step that fails for what was done
// to the runner's files is not shown as completed.
func TestAnErrorThatNoEventTellsIsInTheComment(t *testing.T) {
	t.Parallel()
	s := newScene(t, "-- wf/START.sh --\necho x=y >>\"$OUT\"; echo '<result>done</result>'\n")
	j := s.onIssue(1, "script-env", "OUT")
	j.set("OUT", j.commandFile("GITHUB_OUTPUT")).do(problem.ExitCodes[problem.ClassDenied])
	s.wantComment(7, "Error", "GITHUB_OUTPUT", "denied")
}
