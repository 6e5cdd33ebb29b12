//go:build linux

package session_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
	"github.com/raymond-action/raymond-action/runner/claude/claudetest"
	"github.com/raymond-action/raymond-action/state"
)

// stepper plays a model that gets a piece of work right at the third attempt: it
// knows of the ones before only by the reports on them.
func stepper(t *testing.T, last string) *claudetest.Server {
	attempt := func(report, content string) claudetest.Rule {
		return claudetest.On(report,
			claudetest.Do(claudetest.ToolUse("Write", map[string]any{"file_path": content + ".txt", "content": content})),
			claudetest.Say("I wrote "+content+". "+last))
	}
	return claudetest.NewServer(t,
		claudetest.On("Make a plan", claudetest.Say("One, two, three. <goto>TRY</goto>")),
		claudetest.On("Tell the end", claudetest.Say("<result>the end</result>")),
		attempt("Attempt 2 of 6", "three"), attempt("Attempt 1 of 6", "two"), attempt("Count", "one"))
}

// counted passes at the third attempt, and says what it found.
const counted = `ls one.txt two.txt; test -e three.txt`

// toolResult is how the agent CLI words what a tool did.
var toolResult = regexp.MustCompile(`\[= .*\]`)

// begins are the conversations that the model saw when an invocation began.
func begins(api *claudetest.Server) []string {
	var out []string
	for _, q := range api.Requests() {
		if q.Step == 0 {
			out = append(out, toolResult.ReplaceAllString(q.Conversation(), "[written]"))
		}
	}
	return out
}

// wantThree checks the verdicts of a run that converged at its third attempt.
func (s *site) wantThree(backoffs ...float64) {
	s.T.Helper()
	var got, want []string
	for _, b := range sitetest.Bodies[*state.NodeAttempt](s.Events()) {
		line := fmt.Sprintf("%d converged %v", b.Attempt, b.Converged)
		if b.BackoffS != nil {
			line += fmt.Sprint(" after ", *b.BackoffS)
		}
		for _, r := range b.Results {
			line += fmt.Sprintf(", rc %d %s", r.RC, r.Tail)
		}
		if b.CostUSD <= 0 || b.DurationS <= 0 {
			s.T.Errorf("attempt %d: got cost %v and duration %v, want both above 0", b.Attempt, b.CostUSD, b.DurationS)
		}
		got = append(got, line)
	}
	want = []string{
		"1 converged false, rc 1 ls: cannot access 'two.txt': No such file or directory\none.txt\n, rc 0 ",
		fmt.Sprint("2 converged false after ", backoffs[0], ", rc 1 one.txt\ntwo.txt\n, rc 0 "),
		fmt.Sprint("3 converged true after ", backoffs[1], ", rc 0 , rc 0 "),
	}
	if d := cmp.Diff(want, got); d != "" {
		s.T.Errorf("verdicts (-want +got):\n%s", d)
	}
	end := sitetest.Bodies[*state.RunFinished](s.Events())[0]
	if end.Outcome != "clean_with_flake" || end.FlakeRetries != 1 {
		s.T.Errorf("end: got %q with %d flakes, want clean_with_flake with 1", end.Outcome, end.FlakeRetries)
	}
}

// TestDoneWhenIsALoop: a plain prompt, two commands, and the agent's last word is
// the result. The back-offs are the real ones.
func TestDoneWhenIsALoop(t *testing.T) {
	t.Parallel()
	api := stepper(t, "Done <goto>nowhere</goto>.")
	s := newRealSite(t, "-- PROMPT.md --\nCount to three.\n", api)
	o := s.Raymond(0, "run", filepath.Join(s.Flow, "PROMPT.md"), "--workflow-id", sitetest.RunID,
		"--done-when", counted, "--done-when", `test -z "$ANTHROPIC_API_KEY"`)
	if want := "I wrote three. Done <goto>nowhere</goto>.\n"; o.Stdout != want {
		t.Errorf("result: got %q, want %q", o.Stdout, want)
	}
	s.wantThree(2, 4)
	report := func(n int) string { return sitetest.Bodies[*state.NodeAttempt](s.Events())[n-1].Report(6) }
	var want []string
	for _, prompt := range []string{"Count to three.\n", "Count to three.\n\n\n" + report(1), "Count to three.\n\n\n" + report(2)} {
		want = append(want, sitetest.Spoken(prompt))
	}
	if d := cmp.Diff(want, begins(api)); d != "" {
		t.Errorf("what the model saw at the start of each attempt (-want +got):\n%s", d)
	}
	s.wantWaits(2, 4)
	s.wantLogs("PROMPT.md.log", "attempt 3", "verdict: passed")
	s.wantLogs("PROMPT.md.log.1", "attempt 1", "verdict: failed")
	s.wantLogs("PROMPT.md.log.2", "attempt 2", "verdict: failed")
	if o := s.Resume(0); o.Stdout != "I wrote three. Done <goto>nowhere</goto>.\n" || len(begins(api)) != 3 {
		t.Errorf("resume of a run that is completed: got %v after %d attempts, want the result again", o, len(begins(api)))
	}
}

// wantWaits checks that the events of attempts are at least as far apart as their back-offs,
// in seconds, say.
func (s *site) wantWaits(backoffs ...float64) {
	s.T.Helper()
	var verdicts []state.Event
	for _, e := range s.Events() {
		if _, ok := e.Body.(*state.NodeAttempt); ok {
			verdicts = append(verdicts, e)
		}
	}
	for i, want := range backoffs {
		between := verdicts[i+1].Time.Sub(verdicts[i].Time).Seconds()
		if own := verdicts[i+1].Body.(*state.NodeAttempt).DurationS; between-own < want-0.01 {
			s.T.Errorf("before attempt %d: got a wait of %.3f s, want at least %v s", i+2, between-own, want)
		}
	}
}

func (s *site) wantLogs(name string, parts ...string) {
	s.T.Helper()
	text := strings.Join(s.Lines(filepath.Join(".raymond", "state", sitetest.RunID, "logs", "main", name)), "\n") + "\n"
	for _, part := range parts {
		if !strings.Contains(text, part+"\n") {
			s.T.Errorf("%s: got %q, want the line %q in it", name, text, part)
		}
	}
}

// looped is a workflow whose second state is entered with a session.
func looped(context string) string {
	return `
-- START.md --
Make a plan.
-- TRY.md --
---
done_when: ["` + counted + `", "true"]
backoff: {base: 10ms, max: 20ms}
attempt_context: ` + context + `
allowed_transitions: [{tag: goto, target: END}]
---
Count: {{attempt}} of {{max_attempts}}.
{{failure}}
-- END.md --
Tell the end.
`
}

// TestAttemptsAsTheModelSeesThem: each attempt of a state that was entered with a
// session branches off that session, or continues after the attempt before.
func TestAttemptsAsTheModelSeesThem(t *testing.T) {
	for _, context := range []string{"entry", "continue"}[:sitetest.Dose(1, 2)] {
		t.Run(context, func(t *testing.T) {
			t.Parallel()
			api := stepper(t, "<goto>END</goto>")
			s := newRealSite(t, looped(context), api)
			if o := s.Run(0); o.Stdout != "the end\n" {
				t.Errorf("result: got %q, want %q", o.Stdout, "the end\n")
			}
			s.wantThree(0.01, 0.02)
			if d := cmp.Diff(s.wantBegins(context), begins(api)); d != "" {
				t.Errorf("what the model saw at each start (-want +got):\n%s", d)
			}
			s.wantEntryUntouched()
		})
	}
}

// wantBegins are the conversations of the looped workflow, as they must be.
func (s *site) wantBegins(context string) []string {
	s.T.Helper()
	entry := []string{"Make a plan.\n", "One, two, three. <goto>TRY</goto>"}
	want := []string{sitetest.Spoken(entry[:1]...)}
	turns := entry
	for n, content := range []string{"one", "two", "three"} {
		report := ""
		if n > 0 {
			report = sitetest.Bodies[*state.NodeAttempt](s.Events())[n-1].Report(6)
		}
		prompt := fmt.Sprintf("Count: %d of 6.\n%s\n", n+1, report)
		if context == "entry" {
			turns = entry
		} else if n > 0 {
			prompt = report
		}
		turns = append(turns[:len(turns):len(turns)], prompt)
		want = append(want, sitetest.Spoken(turns...))
		turns = append(turns, fmt.Sprintf(`[Write {"file_path":"%s.txt","content":"%s"}]`, content, content),
			"[written]", "I wrote "+content+". <goto>END</goto>")
	}
	return append(want, sitetest.Spoken(append(turns, "Tell the end.\n")...))
}

// wantEntryUntouched checks that the session of the first state has nothing of the
// attempts in it.
func (s *site) wantEntryUntouched() {
	s.T.Helper()
	entry := sitetest.Bodies[*state.StateStarted](s.Events())[0].SessionID
	if text := s.transcript(entry); strings.Contains(text, "Count:") || strings.Contains(text, "is not done") {
		s.T.Errorf("transcript of the entry session: got the attempts in it:\n%s", text)
	}
}

// plain is a workflow for the stub: one prompt that says when it was sent.
const plain = "-- PROMPT.md --\nlog: sent\nreply:\nall done\nend.\n"

// TestExhaustedLoops: the exit codes and what is said.
func TestExhaustedLoops(t *testing.T) {
	t.Parallel()
	s := newSite(t, plain)
	o := s.Raymond(1, "run", filepath.Join(s.Flow, "PROMPT.md"), "--workflow-id", sitetest.RunID, "--done-when", "echo not yet; false", "--max-attempts", "1")
	if want := "raymond: run_failed: w: agent main in state PROMPT.md: max_ralph_iters_reached; in its last attempt exit code 1 of \"echo not yet; false\": not yet; to try again: raymond resume w\n"; !strings.HasSuffix(o.Stderr, want) || o.Stdout != "" {
		t.Errorf("used up: got %v, want the end %q", o, want)
	}
	if !strings.Contains(o.Stderr, "done_when_failed") || !strings.Contains(o.Stderr, "exit code 1 of echo not yet; false") {
		t.Errorf("used up: got %q on stderr, want the verdict", o.Stderr)
	}
	if o := s.Resume(0, "--done-when", "true"); o.Stdout != "all done\n" || len(s.Lines("effects")) != 2 {
		t.Errorf("resume with another command: got %v after %d prompts, want the result after 2", o, len(s.Lines("effects")))
	}
	s = newSite(t, "-- START.md --\n---\ndone_when: 'false'\nmax_ralph_iters: 2\nbackoff: none\non_exhausted: suspend\n---\nlog: {{attempt}}\nreply:\n<result>x</result>\nend.\n")
	if o := s.Run(10); !strings.Contains(o.Stderr, "raymond: suspended: w: state START.md of agent main: max_ralph_iters_reached; to resume: raymond resume w\n") {
		t.Errorf("suspended: got %v", o)
	}
	if n := len(s.Lines("effects")); n != 2 {
		t.Errorf("suspended: got %d prompts, want 2", n)
	}
}

// TestBadLoopFlags: each is told, at once with the others, and nothing is started.
func TestBadLoopFlags(t *testing.T) {
	t.Parallel()
	s := newSite(t, plain+"-- FRONT.md --\n---\nmodel: x\n---\nprompt\n-- TAG.md --\nsay <result>x</result>\n-- A.sh --\necho\n-- dir/START.md --\nhello\n")
	many := func(n int) []string {
		var out []string
		for range n {
			out = append(out, "--done-when", "true")
		}
		return out
	}
	for _, c := range []struct {
		path string
		args []string
		want []string // beginnings of the lines
	}{
		{"PROMPT.md", []string{"--done-when", ""}, []string{`--done-when: "": is empty`}},
		{"PROMPT.md", []string{"--done-when", " \t"}, []string{`--done-when: " \t": is empty`}},
		{"PROMPT.md", many(65), []string{`--done-when: "true": is command 65, want at most 64`}},
		{"PROMPT.md", []string{"--done-when", "true", "--max-attempts", "0"}, []string{`--max-attempts: "0": want a whole number from 1`}},
		{"PROMPT.md", []string{"--done-when", "true", "--max-attempts", "101"}, []string{`--max-attempts: "101": want at most 100`}},
		{"PROMPT.md", []string{"--done-when", "true", "--max-attempts", "010"}, []string{`--max-attempts: "010"`}},
		{"PROMPT.md", []string{"--done-when", "true", "--max-attempts", "6.5"}, []string{`--max-attempts: "6.5"`}},
		{"PROMPT.md", []string{"--done-when", "true", "--max-attempts", "-1"}, []string{`--max-attempts: "-1"`}},
		{"PROMPT.md", []string{"--max-attempts", "3"}, []string{"--max-attempts: needs --done-when"}},
		{"PROMPT.md", []string{"--done-when", "", "--max-attempts", "x", "--budget", "NaN"}, []string{"--done-when: ", "--max-attempts: ", "--budget: "}},
		{"PROMPT.md", []string{"--done-wen=true"}, []string{"--done-wen: "}},
		{"FRONT.md", many(1), []string{"--done-when: is for a plain prompt file"}},
		{"TAG.md", many(1), []string{"--done-when: is for a plain prompt file"}},
		{"A.sh", many(1), []string{"--done-when: is for a plain prompt file"}},
		{"dir", many(1), []string{"--done-when: is for a plain prompt file"}},
	} {
		o := s.Raymond(2, append([]string{"run", filepath.Join(s.Flow, c.path)}, c.args...)...)
		lines := strings.Split(strings.TrimSuffix(o.Stderr, "\n"), "\n")
		for i, want := range c.want {
			if len(lines) != len(c.want) || !strings.HasPrefix(lines[i], "raymond: usage: "+want) {
				t.Errorf("%s %q: got %q, want lines that begin with %q", c.path, c.args, lines, c.want)
			}
		}
	}
	if sitetest.Exists(s.StateDir()) || sitetest.Exists(s.SideEffects()) {
		t.Error("something was started")
	}
	o := s.Raymond(0, append([]string{"run", filepath.Join(s.Flow, "PROMPT.md"), "--max-attempts", "100"}, many(64)...)...)
	if o.Stdout != "all done\n" {
		t.Errorf("64 commands, 100 attempts: got %v, want the result", o)
	}
}

// TestAWorkflowThatChangedInTheMidstOfALoop is refused where it leaves the agent
// with nowhere to go.
func TestAWorkflowThatChangedInTheMidstOfALoop(t *testing.T) {
	t.Parallel()
	reply := "log: work\nreply:\n<goto>END</goto>\nend.\n"
	flow := "-- START.md --\n---\ndone_when: test -e go\n---\n" + reply + "-- END.md --\nlog: end\nreply:\n<result>x</result>\nend.\n"
	s := newSite(t, flow)
	s.Run(3, "--budget", "0.001")
	s.Write(filepath.Join(s.Flow, "START.md"), reply)
	o := s.Resume(7, "--budget", "1", "--allow-changed-workflow")
	if !strings.Contains(o.Stderr, "raymond: workflow: START.md: has no done_when any more") {
		t.Errorf("without its commands: got %v", o)
	}

	s = newSite(t, strings.Replace(flow, "test -e go", "echo >here; until test -e go; do sleep 0.01; done", 1))
	j := s.Start(s.RunArgs()...)
	j.Until("the start of the commands", func() bool { return sitetest.Exists(s.File("here")) })
	j.Signal(os.Interrupt)
	j.Signal(os.Interrupt)
	if o := j.Wait(); o.Code != 130 || s.Saved().Agents[0].Exec.Phase != state.PhaseVerify {
		t.Fatalf("cancelled in the commands: got %v, want exit code 130", o)
	}
	end := filepath.Join(s.Flow, "END.md")
	if err := os.Rename(end, end+"~"); err != nil {
		t.Fatal(err)
	}
	o = s.Resume(7, "--allow-changed-workflow")
	if !strings.Contains(o.Stderr, "raymond: workflow: END.md: is gone, and the run is at this state") {
		t.Errorf("without the next state: got %v", o)
	}
	if err := os.Rename(end+"~", end); err != nil {
		t.Fatal(err)
	}
	s.Write(s.File("go"), "")
	if o := s.Resume(0); o.Stdout != "x\n" || len(s.Lines("effects")) != 2 {
		t.Errorf("resume: got %v after %q, want the result, and each state once", o, s.Lines("effects"))
	}
}

// TestAKillInTheCommandsRunsOnlyThemAgain, after what the killed run left has
// been ended.
func TestAKillInTheCommandsRunsOnlyThemAgain(t *testing.T) {
	t.Parallel()
	s := newSite(t, "-- START.md --\n---\ndone_when: \"trap '' INT TERM; echo $$ >>here; test -e go || sleep 300\"\n---\nlog: work\nreply:\n<result>x</result>\nend.\n")
	j := s.Start(s.RunArgs()...)
	j.Until("the start of the commands", func() bool { return len(s.Lines("here")) == 1 })
	j.Kill()
	s.Write(s.File("go"), "")
	if o := s.Resume(0); o.Stdout != "x\n" || len(s.Lines("effects")) != 1 || len(s.Lines("here")) != 2 {
		t.Errorf("resume: got %v after %d prompts and %d verifications, want the result after 1 and 2", o, len(s.Lines("effects")), len(s.Lines("here")))
	}
	pid, err := strconv.Atoi(s.Lines("here")[0])
	if err != nil || sitetest.Alive(pid) {
		t.Errorf("command of the killed run: got process %d alive (%v), want it ended", pid, err)
	}
	end := sitetest.Bodies[*state.RunFinished](s.Events())
	if n := len(sitetest.Bodies[*state.NodeAttempt](s.Events())); n != 1 || end[0].Outcome != "clean" {
		t.Errorf("got %d verdicts and outcome %q, want 1 and clean", n, end[0].Outcome)
	}
}
