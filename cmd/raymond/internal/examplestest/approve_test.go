//go:build linux

package examplestest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// planStage is a repository with an issue that somebody wants a plan for, and the file in which the patch ends up.
func planStage(t *testing.T) (*Stage, string) {
	t.Helper()
	s := New(t, Setup{Example: "approve-plan", Files: greeting, Shipped: true})
	s.Forge.AddIssue(Issue{Number: 7, Title: "greet.sh greets nobody", Body: "It should say hello.", Author: "eve"})
	return s, filepath.Join(keepUploads(t, s), "approve-plan-patch")
}

// TestAPlanIsCarriedOutOnceItIsApproved: somebody with write permission has it changed, and then says yes. Nothing else
// that is said under the issue changes anything.
func TestAPlanIsCarriedOutOnceItIsApproved(t *testing.T) {
	t.Parallel()
	s, patch := planStage(t)
	s.Agents.Say("1_START.md", `<ask next="ANSWER.sh">greet.sh says hello.</ask>`)
	s.Agents.Say("REVISE.md", `<ask next="ANSWER.sh">greet.sh says hello to the world.</ask>`)
	s.Agents.Play("IMPLEMENT.md", "echo 'echo Hello, World' >greet.sh; echo Done.")
	r := s.Run("issues", labeled(t, "plan", "greet.sh greets nobody", "It should say hello."))
	WantStep(t, r, "approve-plan", "raymond", "success", "status", "suspended", "cost-usd", "0.01")
	wantQuestion(t, s, 1, "greet.sh says hello.\n")

	wantNoEffect(t, s)
	r = s.answer(t, 7, "/raymond greet the world")
	WantStep(t, r, "approve-plan", "raymond", "success", "status", "suspended", "cost-usd", "0.02")
	wantQuestion(t, s, 2, "greet.sh says hello to the world.\n")
	if calls := s.Agents.Calls(); !strings.Contains(calls[len(calls)-1].Prompt, "greet the world") {
		t.Errorf("second prompt: got\n%s\nwant the answer in it", calls[len(calls)-1].Prompt)
	}

	r = s.answer(t, 7, "/raymond Yes.")
	WantStep(t, r, "approve-plan", "raymond", "success", "status", "completed", "outcome", "clean", "cost-usd", "0.03")
	if data, err := os.ReadFile(patch); err != nil || !strings.Contains(string(data), "+echo Hello, World\n") {
		t.Errorf("patch: got %q, %v; want what the agent has changed", data, err)
	}
	if diff := cmp.Diff([]string{"1_START.md", "REVISE.md", "IMPLEMENT.md"}, s.Agents.States()); diff != "" {
		t.Errorf("prompts (-want +got):\n%s", diff)
	}
}

// wantNoEffect checks what isn't an answer, or not of somebody who may answer: neither an agent nor a comment comes of it,
// and a comment that isn't for us costs no request.
func wantNoEffect(t *testing.T, s *Stage) {
	t.Helper()
	agents, comments := len(s.Agents.Calls()), len(s.Forge.Issue(7).Notes)
	r := s.answerOf(t, "eve", 7, "/raymond yes")
	WantStep(t, r, "approve-plan", "raymond", "failure", "error-class", "denied")
	before := len(s.Forge.Requests(""))
	for _, text := range []string{"> /raymond yes", "/raymondyes"} {
		if r := s.answer(t, 7, text); r.Code != 0 {
			t.Errorf("comment %q: got\n%s\nwant it to change nothing", text, Shown(r))
		}
	}
	if asked := s.Forge.Requests("")[before:]; len(asked) > 0 {
		t.Errorf("comments that are no answers: got the requests %v, want none", asked)
	}
	if a, c := len(s.Agents.Calls()), len(s.Forge.Issue(7).Notes); a != agents || c != comments+3 {
		t.Errorf("after comments that are no answers: got %d calls of agents and %d comments, want %d and %d", a, c, agents, comments+3)
	}
}

// wantQuestion checks that our comments on the issue are the page of the run and n questions, of which the last has a
// text in it.
func wantQuestion(t *testing.T, s *Stage, n int, text string) {
	t.Helper()
	var ours []string
	for _, c := range s.Forge.Issue(7).Notes {
		if strings.HasSuffix(c.Author, "[bot]") {
			ours = append(ours, c.Body)
		}
	}
	if len(ours) != n+1 {
		t.Fatalf("comments: got %q, want the page of the run and %d questions", ours, n)
	}
	if question := ours[n]; !strings.Contains(question, text) || !strings.Contains(question, "begins with `/raymond`") {
		t.Errorf("question: got %q, want %q in it, and how to answer", question, text)
	}
}

// TestAPlanThatIsDeclinedChangesNothing.
func TestAPlanThatIsDeclinedChangesNothing(t *testing.T) {
	t.Parallel()
	s, patch := planStage(t)
	s.Agents.Say("1_START.md", `<ask next="ANSWER.sh">greet.sh says hello.</ask>`)
	s.Run("issues", labeled(t, "plan", "greet.sh greets nobody", "It should say hello."))
	r := s.answer(t, 7, "/raymond no")
	WantStep(t, r, "approve-plan", "raymond", "success", "status", "completed", "result", "The plan was declined, and nothing was changed.")
	if _, err := os.Stat(patch); err == nil {
		t.Error("patch: got one, want none")
	}
}
