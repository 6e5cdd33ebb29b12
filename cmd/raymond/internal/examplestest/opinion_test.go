//go:build linux

package examplestest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/raymond-action/raymond-action/runner/agenttest"
	"github.com/raymond-action/raymond-action/runner/claude/claudetest"
	"github.com/raymond-action/raymond-action/runner/codex/codextest"
	"github.com/raymond-action/raymond-action/runner/gemini/geminitest"
)

const (
	wrongMean = "def mean(numbers):\n    return sum(numbers) / len(numbers)\n"
	rightMean = "def mean(numbers):\n    if not numbers:\n        raise ValueError\n    return sum(numbers) / len(numbers)\n"

	openaiKey = "sk-openai-of-the-consumer-0123456789"
	geminiKey = "AIza-of-the-consumer-0123456789abcdefghij"
)

// verdict is what a reviewer says that has one finding in mean.py, or, at line 0, none.
func verdict(line int, problem string) string {
	if line == 0 {
		return `<result>{"findings": []}</result>`
	}
	return fmt.Sprintf(`<result>{"findings": [{"file": "mean.py", "line": %d, "problem": %q}]}</result>`, line, problem)
}

// reviewer is a model that reviews the work; it keeps what it was asked.
type reviewer struct {
	first, then string // what it says of the first version, and of the second one
	hasty       bool   // its first verdict is not of the form that it was asked for

	mu    sync.Mutex // guards asked
	asked []agenttest.Asked
}

func (r *reviewer) answer(q agenttest.Asked) agenttest.Reply {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = append(r.asked, q)
	all := strings.Join(q.Prompts, "\n")
	reply := agenttest.Reply{Text: r.first, Input: 1000, Output: 100}
	switch {
	case strings.Contains(all, "raise ValueError"):
		reply.Text = r.then
	case r.hasty && strings.Contains(q.Last(), "You review work"):
		reply.Text = `<result>{"findings": "an empty list"}</result>`
	}
	return reply
}

// questions are what the model was asked.
func (r *reviewer) questions() []agenttest.Asked {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.asked
}

// useVendor has the agents of a stage run a CLI, whose API has a URL.
func (s *Stage) useVendor(v agenttest.Vendor, path string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.Agents.dir, v.Name()), []byte("#!/bin/bash\nexport NO_PROXY='*'\nexec '"+path+"' \"$@\"\n"), 0o755); err != nil {
		s.t.Fatal(err)
	}
}

// TestTwoOfThreeReviewersAreHeard: Claude Code, Codex and the Gemini CLI, the real ones, review at once. What
// two of them find is sent back and fixed, and what one finds alone is for people.
func TestTwoOfThreeReviewersAreHeard(t *testing.T) {
	t.Parallel()
	s := New(t, Setup{Example: "second-opinion", Files: "-- README --\nmeans\n", Shipped: true})
	patch := filepath.Join(keepUploads(t, s), "second-opinion-patch")
	api := claudetest.NewServer(t,
		claudetest.On("Models of other makers review", writes("mean.py", wrongMean), claudetest.Say("It is written.")),
		claudetest.Rule{Match: "You review work", Sequence: []claudetest.Reply{
			claudetest.Say(verdict(1, "the name is <too> short")), claudetest.Say(verdict(1, "the name is <too> short")),
		}},
		claudetest.On("Two of three reviewers", writes("mean.py", rightMean), claudetest.Say("An empty list has no mean now.")),
	)
	s.UseCLI(api)
	openai := &reviewer{first: verdict(8, "fails for an empty list"), then: verdict(0, ""), hasty: true}
	google := &reviewer{first: verdict(9, "divides by zero"), then: verdict(0, "")}
	s.useVendor(codextest.Vendor{}, codextest.Install(t))
	s.useVendor(geminitest.Vendor{}, geminitest.Install(t))
	s.Env["OPENAI_BASE_URL"] = codextest.Vendor{}.Serve(t, openai.answer) + "/v1"
	s.Env["GOOGLE_GEMINI_BASE_URL"] = geminitest.Vendor{}.Serve(t, google.answer)
	s.Secrets["OPENAI_API_KEY"], s.Secrets["GEMINI_API_KEY"] = openaiKey, geminiKey

	r := s.Run("workflow_dispatch", jobsDispatch(t, "second-opinion", map[string]string{"task": "Add the mean of a list.", "rounds": "3"}))
	jobsWant(t, r, map[string]string{"second-opinion": "success"})
	step := WantStep(t, r, "second-opinion", "raymond", "success", "status", "completed")
	for _, part := range []string{"round 2: no two reviewers found the same\n\nOnly one reviewer found:\n\n- mean.py:1\n  > the name is ‹too> short", "1 file changed"} {
		if !strings.Contains(step.Outputs["result"], part) {
			t.Errorf("result: got\n%s\nwant %q in it", step.Outputs["result"], part)
		}
	}
	if text, err := os.ReadFile(patch); err != nil || !strings.Contains(string(text), "+        raise ValueError") {
		t.Errorf("patch: got %q, %v, want the second version", text, err)
	}
	fix := ""
	for _, q := range api.Requests() {
		if strings.Contains(q.Prompt, "Two of three reviewers") {
			fix = q.Prompt
		}
	}
	if !strings.Contains(fix, "- mean.py:8\n  > fails for an empty list\n  > divides by zero") || strings.Contains(fix, "too> short") {
		t.Errorf("what is sent back: got %q, want what two have found", fix)
	}
	for key, r := range map[string]*reviewer{openaiKey: openai, geminiKey: google} {
		asked := r.questions()
		if want := map[bool]int{true: 3, false: 2}[r.hasty]; len(asked) != want || asked[0].Key != key || !strings.Contains(asked[0].Last(), "> +def mean(numbers):") {
			t.Errorf("questions: got %d, the first %+v, want %d, with the diff and the key of the consumer", len(asked), asked, want)
		}
	}
}
