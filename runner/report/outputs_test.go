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
