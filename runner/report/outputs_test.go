package report

import (
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

// failedScript is the end of a script that wrote to both streams.
func failedScript(stdout, stderr string) []state.Event {
	fault := "exit code 1; stdout: some; stderr: some"
	return []state.Event{
		{Body: &state.RunStarted{Entry: "A.sh"}},
		{Agent: "main", State: "A.sh", Body: &state.StateStarted{Kind: "script", Attempt: 1}},
		{Agent: "main", State: "A.sh", Body: &state.StateFinished{Error: fault, StdoutTail: stdout, StderrTail: stderr}},
		{Agent: "main", State: "A.sh", Body: &state.AgentFinished{Error: fault}},
		{Body: &state.RunFinished{Status: state.Failed, Reason: fault}},
	}
}

// TestOutputsOfAFailedScriptAreShown: the annotation and the page have the lines of stdout
// and stderr, not only what the error quotes.
func TestOutputsOfAFailedScriptAreShown(t *testing.T) {
	for _, tt := range []struct{ stdout, stderr string }{
		{"FAIL: one\nFAIL: two\n", "A.sh: line 7: make failed\n"}, {"FAIL: only here\n", ""}, {"", "only here\n"},
		{strings.Repeat("x\n", 2040) + "the last of stdout", strings.Repeat("y\n", 2040) + "the last of stderr"},
	} {
		events := failedScript(tt.stdout, tt.stderr)
		notes := annotated(t, events...)
		var p page
		s := summaryTo(&p)
		for _, e := range events {
			report(t, s, e)
		}
		closed(t, s)
		texts := map[string]string{"annotation": notes[0].Text, "page": p.text}
		for where, text := range texts {
			for _, output := range []string{tt.stdout, tt.stderr} {
				lines := strings.Split(strings.TrimSpace(output), "\n")
				if last := lines[len(lines)-1]; !strings.Contains(text, last) {
					t.Errorf("%s: got\n%s\nwant %q in it", where, text, last)
				}
			}
			if tt.stdout != "" && !strings.Contains(text, "stdout") || tt.stderr != "" && !strings.Contains(text, "stderr") {
				t.Errorf("%s: got\n%s\nwant the names of the streams", where, text)
			}
		}
		if len([]rune(notes[0].Text)) > 4096 {
			t.Errorf("annotation: got %d characters, more than GitHub shows", len([]rune(notes[0].Text)))
		}
	}
}

// TestConsoleShowsOutput: the lines of a script are shown as they come. A quiet reader sees
// them if the script fails, before the failure.
func TestConsoleShowsOutput(t *testing.T) {
	for name, o := range map[string]ConsoleOptions{"usual": {}, "quiet": {Quiet: true}} {
		for _, ok := range []bool{true, false} {
			var out strings.Builder
			c := NewConsole(&out, o)
			report(t, c, state.Event{Agent: "main", State: "A.sh", Body: &state.StateStarted{Kind: "script", Attempt: 1}})
			must(t, c.Doing("main", "A.sh", runner.Progress{Text: "FAIL: \x1b[31mone"}))
			if got := strings.Contains(out.String(), "FAIL: one"); got == o.Quiet {
				t.Errorf("%s: shown as it comes: got %t\n%s", name, got, &out)
			}
			end := &state.StateFinished{OK: ok}
			if !ok {
				end.Error = "exit code 1"
			}
			report(t, c, state.Event{Agent: "main", State: "A.sh", Body: end})
			closed(t, c)
			at, said := strings.Index(out.String(), "FAIL: one"), strings.Index(out.String(), "exit code 1")
			if want := !o.Quiet || !ok; (at >= 0) != want || !ok && at > said {
				t.Errorf("%s, ok %t: got\n%s\nwant the output: %t", name, ok, &out, want)
			}
		}
	}
}
