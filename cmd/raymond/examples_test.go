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
		s := newSite(t, "")
		s.play("quickstart")
		temp := t.TempDir()
		s.Env = []string{"PATH=/usr/bin:/bin", "TMPDIR=" + temp}
		s.Sign()
		o := s.Run(0, "--max-parallel", parallel)
		wantPath(s, o, "quickstart")
		if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
			t.Errorf("in the temporary folder after --max-parallel %s: got %v (%v), want nothing", parallel, left, err)
		}
	}
}

// TestExampleQuickstartAddsUp runs it with other numbers, small ones included.
func TestExampleQuickstartAddsUp(t *testing.T) {
	for input, want := range map[string]string{
		"1":   "1 + 2 + ... + 1 = 1, and 1 * 2 / 2 is the same\n",
		"10":  "1 + 2 + ... + 10 = 55, and 10 * 11 / 2 is the same\n",
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
		claudetest.On("The check failed", write(wrongGreeting), claudetest.Say("Mended. <goto>CHECK.sh</goto>")),
		claudetest.Rule{Match: askedForReview, Sequence: []claudetest.Reply{
			claudetest.Say("<result>" + reviewFinding + "</result>"),
			claudetest.Say("<result>APPROVED</result>"),
		}},
		claudetest.On(reviewFinding, read, write(rightGreeting), claudetest.Say("<goto>CHECK.sh</goto>")),
		claudetest.On("came back:\n\nAPPROVED", claudetest.Say("<result>greet.sh greets whom it is told to.</result>")),
	)
}

func TestExamplePlanImplementReviewWithTheRealCLI(t *testing.T) {
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
		{"came back:\n\n" + reviewFinding, "Mended.", askedForReview},
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

func writeFile(name, content string) claudetest.Reply {
	return claudetest.Do(claudetest.ToolUse("Write", map[string]any{"file_path": name, "content": content}))
}

// readFile comes before a second version: the CLI asks for that.
func readFile(name string) claudetest.Reply {
	return claudetest.Do(claudetest.ToolUse("Read", map[string]any{"file_path": name}))
}

const rightSlug = "tr 'A-Z' 'a-z' <<<\"$1\" | sed 's/[^a-z0-9]\\{1,\\}/-/g; s/^-//; s/-$//'\n"

// TestExampleRalphWithTheRealCLI has an agent that is wrong at first and says
// that it is done; the second attempt is told what failed.
func TestExampleRalphWithTheRealCLI(t *testing.T) {
	api := claudetest.NewServer(t,
		claudetest.On("This is attempt 1 of 4", writeFile("slug.sh", "echo hello-world\n"), claudetest.Say("Done.")),
		claudetest.On("This is attempt 2 of 4", readFile("slug.sh"), writeFile("slug.sh", rightSlug), claudetest.Say("tr and sed do it.")),
	)
	s := newRealSite(t, "", api)
	s.play("ralph")
	check, err := os.ReadFile("../../examples/ralph/project/slug_test.sh")
	if err != nil {
		t.Fatal(err)
	}
	s.Write(s.File("slug_test.sh"), string(check))
	s.Env = append(s.Env, "TEST_COMMAND=bash slug_test.sh")
	wantPath(s, s.Run(0, "--input", "Write slug.sh"), "ralph")
	if got, want := s.Saved().Progress.Flakes, 1; got != want {
		t.Errorf("flakes: got %d, want %d", got, want)
	}
	if seen := api.Requests()[len(api.Requests())-1].Conversation(); !strings.Contains(seen, "got 'hello-world', want 'two-words'") {
		t.Errorf("second attempt: got\n%s\nwant the output of the test in it", seen)
	}
}

func TestExampleReviewLoopWithTheRealCLI(t *testing.T) {
	const finding = `no "example" & no <end>`
	api := claudetest.NewServer(t,
		claudetest.On("Write a text into TEXT.md", writeFile("TEXT.md", "first\n"), claudetest.Say("Written.")),
		claudetest.Rule{Match: "You review TEXT.md", Sequence: []claudetest.Reply{
			claudetest.Say("<result>" + finding + "</result>"), claudetest.Say("<result>APPROVED</result>"),
		}},
		claudetest.On("The reviewer of TEXT.md says:\n\n"+finding,
			readFile("TEXT.md"), writeFile("TEXT.md", "second\n"), claudetest.Say("Revised.")),
	)
	s := newRealSite(t, "", api)
	s.play("review-loop")
	s.Env = append(s.Env, "TMPDIR="+t.TempDir())
	wantPath(s, s.Run(0, "--input", "Explain locks"), "review-loop")
	if got, err := os.ReadFile(s.File("TEXT.md")); err != nil || string(got) != "second\n" {
		t.Errorf("TEXT.md: got %q (%v), want the second version", got, err)
	}
	for _, q := range api.Requests() {
		if seen := q.Conversation(); strings.Contains(q.Prompt, "You review") && strings.Contains(seen, "Written.") {
			t.Errorf("reviewer: got\n%s\nwant nothing of the author's conversation", seen)
		}
	}
}
