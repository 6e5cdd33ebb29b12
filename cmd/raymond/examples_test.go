package main

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
	"github.com/raymond-action/raymond-action/runner/claude/claudetest"
	"github.com/raymond-action/raymond-action/state"
)

var updateExamples = flag.Bool("update-examples", false, "rewrite the recorded paths of the examples")

// play makes the site run the example of that name.
func (s *site) play(name string) {
	s.T.Helper()
	flow, err := filepath.Abs(filepath.Join("../../examples", name))
	if err != nil {
		s.T.Fatal(err)
	}
	s.Flow = flow
}

// examplePath is what each agent of a run did, without anything that differs
// from run to run: ids, times, who was faster, and how often somebody waited.
func examplePath(events []state.Event) string {
	did := map[string][]string{}
	end := ""
	for _, e := range events {
		if b, ok := e.Body.(*state.RunFinished); ok {
			end = fmt.Sprintf("%s, %s\n", b.Status, b.Outcome)
		}
		if line := pathLine(e); line != "" {
			did[e.Agent] = append(did[e.Agent], "  "+line+"\n")
		}
	}
	path := ""
	for _, agent := range slices.Sorted(maps.Keys(did)) {
		path += agent + "\n" + strings.Join(did[agent], "")
	}
	return path + end
}

// pathLine is the part of an event that belongs to the path; "" for none.
func pathLine(e state.Event) string {
	switch b := e.Body.(type) {
	case *state.AgentStarted:
		return fmt.Sprint("is new, with ", b.Vars)
	case *state.StateStarted:
		if b.Session != "" {
			return fmt.Sprintf("%s in a session: %s", e.State, b.Session)
		}
	case *state.Transition:
		if b.Target == e.State {
			return "" // waits
		}
		line := strings.TrimSpace(e.State + " " + b.Tag + " " + b.Target)
		if b.Return+b.Next != "" {
			line += ", then " + b.Return + b.Next
		}
		return line
	case *state.AgentFinished:
		if b.Result == nil {
			return "fails: " + b.Error
		}
		return fmt.Sprintf("ends with %q", *b.Result)
	}
	return ""
}

// wantPath compares what a run did with the recorded path of the example.
func wantPath(s *site, o sitetest.Outcome, example string) {
	s.T.Helper()
	golden := filepath.Join("testdata", "examples", example+".txt")
	got := "stdout: " + o.Stdout + examplePath(s.Events())
	if *updateExamples {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			s.T.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		s.T.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		s.T.Errorf("path of %s (-want +got):\n%s%v", example, d, o)
	}
}

// TestExampleQuickstartNeedsNothing runs it without a home folder, a key, or anything
// on PATH but the system's own programs.
func TestExampleQuickstartNeedsNothing(t *testing.T) {
	for _, parallel := range []string{"4", "1"} {
		t.Run("parallel "+parallel, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, "")
			s.play("quickstart")
			temp := t.TempDir()
			s.Env = []string{"PATH=/usr/bin:/bin", "TMPDIR=" + temp}
			s.Sign()
			o := s.Run(0, "--max-parallel", parallel)
			wantPath(s, o, "quickstart")
			if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
				t.Errorf("in the temporary folder: got %v (%v), want nothing", left, err)
			}
		})
	}
}

// TestExampleQuickstartAddsUp runs it with the smallest number, and with what is none.
func TestExampleQuickstartAddsUp(t *testing.T) {
	t.Parallel()
	for input, want := range map[string]string{
		"1":   "1 + 2 + ... + 1 = 1, and 1 * 2 / 2 is the same\n",
		"ten": "", "0": "", "010": "", "$(id)": "",
	} {
		s := newSite(t, "")
		s.play("quickstart")
		code := 0
		if want == "" {
			code = 1
		}
		if o := s.Run(code, "--input", input); o.Stdout != want {
			t.Errorf("quickstart --input %q: got %q, want %q", input, o.Stdout, want)
		}
	}
}

const (
	wrongGreeting  = "name=$1\necho Hello, $name!\n"
	rightGreeting  = "name=${1:?}\nprintf 'Hello, %s!\\n' \"$name\"\n"
	greetingCheck  = `bash greet.sh World | grep -x 'Hello, World!' || { echo 'no <greeting> & no "World"'; false; }`
	reviewFinding  = "a missing name must be an error"
	askedForReview = "be the reviewer"
)

// greetingModel plays the model for plan-implement-review: its first version
// fails the check, its second one the review.
func greetingModel(t *testing.T) *claudetest.Server {
	write := func(content string) claudetest.Reply {
		return claudetest.Do(claudetest.ToolUse("Write", map[string]any{"file_path": "greet.sh", "content": content}))
	}
	read := claudetest.Do(claudetest.ToolUse("Read", map[string]any{"file_path": "greet.sh"}))
	return claudetest.NewServer(t,
		claudetest.On("This is the task:", claudetest.Say("One file, greet.sh.")),
		claudetest.On("Carry out your plan", write("echo Hi\n"), claudetest.Say("Written.")),
		claudetest.On("The check failed", write(wrongGreeting), claudetest.Say("Fixed. <goto>CHECK.sh</goto>")),
		claudetest.Rule{Match: askedForReview, Sequence: []claudetest.Reply{
			claudetest.Say("<result>" + reviewFinding + "</result>"),
			claudetest.Say("<result>APPROVED</result>"),
		}},
		claudetest.On(reviewFinding, read, write(rightGreeting), claudetest.Say("<goto>CHECK.sh</goto>")),
		claudetest.On("came back:\n\nAPPROVED", claudetest.Say("<result>greet.sh greets whom it is told to.</result>")),
	)
}

func TestExamplePlanImplementReviewWithTheRealCLI(t *testing.T) {
	t.Parallel()
	api := greetingModel(t)
	s := newRealSite(t, "", api)
	s.play("plan-implement-review")
	o := s.Run(0, "--input", "Write greet.sh", "--meta", "check="+greetingCheck)
	wantPath(s, o, "plan-implement-review")
	if got, err := os.ReadFile(s.File("greet.sh")); err != nil || string(got) != rightGreeting {
		t.Errorf("greet.sh: got %q (%v), want %q", got, err, rightGreeting)
	}
	if got := s.Saved().Progress.TotalUSD; got <= 0 {
		t.Errorf("cost of the run: got %v, want more than nothing", got)
	}
	wantSeen(t, api)
}

// wantSeen checks what the model saw, where the example promises something of it.
func wantSeen(t *testing.T, api *claudetest.Server) {
	t.Helper()
	for _, c := range []struct{ prompt, has, lacks string }{
		{"This is the task:", "Write greet.sh", "{{"},
		{"Carry out your plan", "One file, greet.sh.", "{{"},
		{"The check failed", `no <greeting> & no "World"`, "{{"},
		{askedForReview, "Written.", "{{"},
		{"came back:\n\n" + reviewFinding, "Fixed.", askedForReview},
		{"came back:\n\nAPPROVED", reviewFinding, askedForReview},
	} {
		asked := slices.DeleteFunc(api.Requests(), func(q claudetest.Request) bool { return !strings.Contains(q.Prompt, c.prompt) })
		if len(asked) == 0 {
			t.Errorf("requests with %q: got none, want one", c.prompt)
		}
		for _, q := range asked {
			if seen := q.Conversation(); !strings.Contains(seen, c.has) || strings.Contains(seen, c.lacks) {
				t.Errorf("request with %q: got\n%s\nwant %q in it, and not %q", c.prompt, seen, c.has, c.lacks)
			}
		}
	}
}
