//go:build linux

package examplestest

import (
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/acttest"
	"github.com/raymond-action/raymond-action/runner/claude/claudetest"
)

// TestWhoeverForgotTheKeyIsToldSo, or has a wrong one: in an annotation, in the
// summary and in the comment, in words for somebody who has inputs and no terminal.
func TestWhoeverForgotTheKeyIsToldSo(t *testing.T) {
	t.Parallel()
	s := New(t, Setup{Example: "issue-to-pr", Files: greeting, Edit: forGreeting, Shipped: true})
	s.UseCLI(claudetest.NewServer(t, claudetest.On("Somebody has asked", claudetest.Reply{Status: 401})))
	s.Forge.AddIssue(Issue{Number: 7, Title: "greet.sh greets nobody"})
	event := labeled(t, "raymond", "greet.sh greets nobody", "")
	wantAdvice(t, s, s.Run("issues", event), "The API refused the credentials: check the secret")
	delete(s.Secrets, "ANTHROPIC_API_KEY")
	wantAdvice(t, s, s.Run("issues", event), "Agents had no credentials")
}

func wantAdvice(t *testing.T, s *Stage, r *acttest.Result, advice string) {
	t.Helper()
	step := WantStep(t, r, "work", "raymond", "failure", "error-class", "run_failed")
	told := 0
	for _, a := range step.Annotations {
		if strings.Contains(a.Text, advice) {
			told++
		}
	}
	unescaped := strings.ReplaceAll(step.Summary, `\`, "")
	if told != 1 || !strings.Contains(unescaped, advice) {
		t.Errorf("annotations and summary: got %+v and\n%s\nwant one annotation, and the summary, with %q", step.Annotations, step.Summary, advice)
	}
	notes := s.Forge.Issue(7).Notes
	if len(notes) != 1 || !strings.Contains(strings.ReplaceAll(notes[0].Body, `\`, ""), advice) {
		t.Errorf("comments: got %+v, want one with %q", notes, advice)
	}
}
