package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/raymond-action/raymond-action/runner/claude/claudetest"
)

var updateExamples = flag.Bool("update-examples", false, "rewrite the recorded paths of the examples")

// exampleRun is what one run of an example left behind.
type exampleRun struct {
	stdout string
	events []exampleEvent
}

// exampleEvent has the fields of an event that a path is made of.
type exampleEvent struct {
	Type, Agent, State, Kind, Session string
	Tag, Target, Return, Next         string
	Status, Outcome, Error            string
	Result                            *string
	Vars                              map[string]string
	CostUSD                           float64 `json:"cost_usd"`
	WorkflowID                        string  `json:"workflow_id"`
}

// runExample runs the built program on an example in dir, which ends in success.
func runExample(t *testing.T, dir string, env []string, args ...string) exampleRun {
	t.Helper()
	cmd := exec.Command(examplesBinary(t), args...)
	cmd.Dir, cmd.Env = dir, env
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("raymond %q: %v\nstdout: %s\nstderr: %s", args, err, &stdout, &stderr)
	}
	return exampleRun{stdout: stdout.String(), events: exampleEvents(t, dir)}
}

// examplesBinary builds the program into a folder of the test.
func examplesBinary(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "raymond")
	if out, err := exec.Command("go", "build", "-o", path, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return path
}

// exampleEvents reads the log of the only run below dir.
func exampleEvents(t *testing.T, dir string) []exampleEvent {
	t.Helper()
	logs, err := filepath.Glob(filepath.Join(dir, ".raymond/state/*/events.jsonl"))
	if err != nil || len(logs) != 1 {
		t.Fatalf("event logs below %s: got %q (%v), want one", dir, logs, err)
	}
	f, err := os.Open(logs[0])
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var events []exampleEvent
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var e exampleEvent
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatalf("%s: %v", lines.Bytes(), err)
		}
		events = append(events, e)
	}
	return events
}

// path is what each agent did, without anything that differs from run to run:
// ids, times, who was faster, and how often a state waited for others.
func (r exampleRun) path() string {
	byAgent := map[string][]string{}
	for _, e := range r.events {
		line := e.line()
		if own := byAgent[e.Agent]; line != "" && (len(own) == 0 || own[len(own)-1] != line) {
			byAgent[e.Agent] = append(own, line)
		}
	}
	delete(byAgent, "")
	var b strings.Builder
	agents := make([]string, 0, len(byAgent))
	for a := range byAgent {
		agents = append(agents, a)
	}
	slices.Sort(agents)
	for _, a := range agents {
		fmt.Fprintf(&b, "%s\n  %s\n", a, strings.Join(byAgent[a], "\n  "))
	}
	last := r.events[len(r.events)-1]
	fmt.Fprintf(&b, "%s %s %s\n", last.Type, last.Status, last.Outcome)
	return b.String()
}

func (e exampleEvent) line() string {
	switch e.Type {
	case "agent_started":
		return fmt.Sprint("starts ", e.Vars)
	case "transition":
		return strings.Join(strings.Fields(strings.Join([]string{
			e.State, e.Tag, e.Target, mark("return ", e.Return), mark("next ", e.Next)}, " ")), " ")
	case "agent_finished":
		return fmt.Sprintf("ends %q", *e.Result)
	case "state_started":
		if e.Kind == "prompt" {
			return e.State + " " + e.Session
		}
	}
	return ""
}

func mark(name, value string) string {
	if value == "" {
		return ""
	}
	return name + value
}

// wantPath compares what a run did with the recorded path of the example.
func wantPath(t *testing.T, r exampleRun, example string) {
	t.Helper()
	golden := filepath.Join("testdata", "examples", example+".txt")
	got := "stdout: " + r.stdout + r.path()
	if *updateExamples {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("path of %s (-want +got):\n%s", example, d)
	}
}

// example is the absolute path of an example.
func example(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("../../examples", name))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestQuickstartNeedsNothing(t *testing.T) {
	for _, args := range [][]string{nil, {"--max-parallel", "1"}} {
		dir, temp := t.TempDir(), t.TempDir()
		env := []string{"PATH=/usr/bin:/bin", "TMPDIR=" + temp} // no HOME, no key
		r := runExample(t, dir, env, append([]string{"run", example(t, "quickstart")}, args...)...)
		wantPath(t, r, "quickstart")
		if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
			t.Errorf("%q: left in the temporary folder: got %v (%v), want nothing", args, left, err)
		}
	}
}

const (
	badGreeting  = "name=$1\necho Hello, $name!\n"
	goodGreeting = "name=${1:?}\nprintf 'Hello, %s!\\n' \"$name\"\n"
)

// planImplementReview plays the model: the first version fails the check, the
// second one the review.
func planImplementReview(t *testing.T, file string) *claudetest.Server {
	write := func(content string) claudetest.Reply {
		return claudetest.Do(claudetest.ToolUse("Write", map[string]any{"file_path": file, "content": content}))
	}
	read := claudetest.Do(claudetest.ToolUse("Read", map[string]any{"file_path": file}))
	return claudetest.NewServer(t,
		claudetest.On("This is the task:", claudetest.Say("One file, greet.sh.")),
		claudetest.On("Carry out your plan", write("echo Hi\n"), claudetest.Say("Written.")),
		claudetest.On("The check failed", write(badGreeting), claudetest.Say("Mended. <goto>CHECK.sh</goto>")),
		claudetest.Rule{Match: "be the reviewer", Sequence: []claudetest.Reply{
			claudetest.Say("<result>a missing name must be an error</result>"),
			claudetest.Say("<result>APPROVED</result>"),
		}},
		claudetest.On("a missing name must be an error", read, write(goodGreeting), claudetest.Say("<goto>CHECK.sh</goto>")),
		claudetest.On("came back:\n\nAPPROVED", claudetest.Say("<result>greet.sh greets the name it is given.</result>")),
	)
}

func TestPlanImplementReviewWithTheRealCLI(t *testing.T) {
	dir, cli := t.TempDir(), claudetest.Install(t)
	file := filepath.Join(dir, "greet.sh")
	server := planImplementReview(t, file)
	r := runExample(t, dir, claudetest.Env(t, server), "run", example(t, "plan-implement-review"), "--claude", cli,
		"--input", "Write greet.sh", "--meta", "check=bash greet.sh World | grep -x 'Hello, World!' || { echo 'no <greeting> & no \"World\"'; false; }")
	wantPath(t, r, "plan-implement-review")
	if got, err := os.ReadFile(file); err != nil || string(got) != goodGreeting {
		t.Errorf("greet.sh: got %q (%v), want %q", got, err, goodGreeting)
	}
	wantPrompts(t, server)
	if last := r.events[len(r.events)-1]; last.CostUSD <= 0 {
		t.Errorf("cost of the run: got %v, want more than nothing", last.CostUSD)
	}
}

// wantPrompts checks what the model saw where the example promises something
// about it.
func wantPrompts(t *testing.T, server *claudetest.Server) {
	t.Helper()
	for _, c := range []struct{ prompt, has, lacks string }{
		{"This is the task:", "Write greet.sh", "{{"},
		{"Carry out your plan", "One file, greet.sh.", "The check failed"},
		{"The check failed", "no <greeting> & no \"World\"", "{{"},
		{"be the reviewer", "Written.", "{{"},
		{"a missing name must be an error", "Mended.", "be the reviewer"},
		{"came back:\n\nAPPROVED", "a missing name must be an error", "be the reviewer"},
	} {
		found := false
		for _, q := range server.Requests() {
			if !strings.Contains(q.Prompt, c.prompt) {
				continue
			}
			found = true
			if seen := q.Conversation(); !strings.Contains(seen, c.has) || strings.Contains(seen, c.lacks) {
				t.Errorf("request with %q saw\n%s\nwant %q in it, and not %q", c.prompt, seen, c.has, c.lacks)
			}
		}
		if !found {
			t.Errorf("requests with %q: got none, want one", c.prompt)
		}
	}
}
