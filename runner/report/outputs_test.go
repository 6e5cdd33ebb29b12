package report

import (
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

// TestConsoleShowsOutput: the lines of a script are shown as they come. A quiet reader sees
// them if the script fails, before the failure.
func TestConsoleShowsOutput(t *testing.T) {
	for name, o := range map[string]ConsoleOptions{"usual": {}, "quiet": {Quiet: true}} {
		for _, ok := range []bool{true, false} {
			var out strings.Builder
			c := NewConsole(&out, NewLiveModel(), o)
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

// TestOutputsOfAFailedScriptAreBounded: the annotation has the ends of stdout and stderr, and
// is no longer than GitHub shows. What page and log show of them is in the golden files.
func TestOutputsOfAFailedScriptAreBounded(t *testing.T) {
	long := strings.Repeat("x\n", 2040)
	got := annotated(t,
		state.Event{Agent: "main", State: "A.sh", Body: &state.StateFinished{Error: "exit code 1", StdoutTail: long + "the last of stdout", StderrTail: long + "the last of stderr"}},
		state.Event{Agent: "main", State: "A.sh", Body: &state.AgentFinished{Error: "exit code 1"}})[0].Text
	if len([]rune(got)) > 4096 || !strings.Contains(got, "the last of stdout") || !strings.Contains(got, "the last of stderr") {
		t.Errorf("got %d characters, want at most 4096 with both ends:\n%s", len([]rune(got)), got)
	}
}
