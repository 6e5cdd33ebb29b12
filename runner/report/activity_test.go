package report

import (
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

// progressLines lists cases for the progress line of the job log. deeds are the events and the
// progress that are reported, at intervals of ten seconds, after the start of a state. The progress
// line is printed one minute after the last of them.
var progressLines = []struct {
	what  string
	spent state.USD // cost of the run before this segment
	deeds []any
	want  string
}{
	{"nothing is known", 0, nil, "working for 1m00s"},
	{"a tool", 0, []any{&state.AgentOutput{Text: "Bash(make)"}, runner.Progress{Activity: "running Bash(make)"}}, "working for 1m20s; running Bash(make) for 1m00s"},
	{"the same tool, and words beside it", 0, []any{runner.Progress{Activity: "running Bash(make)"}, &state.AgentOutput{Text: "meanwhile"}, runner.Progress{Activity: "running Bash(make)"}},
		"working for 1m30s; running Bash(make) for 1m20s"},
	{"a script's stderr", 0, []any{&state.AgentOutput{Text: "compiling"}}, "working for 1m10s; last, 1m00s ago: compiling"},
	{"beyond what is told", 0, []any{&state.AgentOutput{Text: "compiling"}, runner.Progress{Text: "line 501"}},
		"working for 1m20s; last, 1m00s ago: line 501"},
	{"a command that verifies", 0, []any{runner.Progress{Activity: "checking go test ./..."}}, "working for 1m10s; checking go test ./... for 1m00s"},
	{"the second attempt", state.Dollar,
		[]any{runner.Progress{Activity: "checking make"}, &state.NodeAttempt{Attempt: 1, Spent: state.Spent{USD: state.Dollar / 2}, Results: []state.CommandResult{{Cmd: "make", RC: 2}}}},
		"working for 1m20s, attempt 2, $1.50 spent; last, 1m00s ago: verdict attempt 1 not done after 0.0s, $0.5000: `make` ended with exit code 2"},
	{"a budget", 0,
		[]any{&state.RunStarted{BudgetUSD: 10 * state.Dollar}, &state.StateFinished{OK: true, Spent: state.Spent{USD: state.Dollar}}, &state.StateStarted{}},
		"working for 1m00s, $1.00 of $10.00 spent"},
	{"a limit knows better", 0,
		[]any{&state.RunStarted{BudgetUSD: 10 * state.Dollar}, &state.Limit{Which: "budget", Value: 8.25, Max: 10}},
		"working for 1m20s, $8.25 of $10.00 spent"},
	{"text of others", 0, []any{runner.Progress{Activity: "running \x1b[31mBash\x1b[0m(\n::error::x##[group]"}},
		"working for 1m10s; running Bash( ::error::x# #[group] for 1m00s"},
}

// TestProgressLine checks the line about an agent's activity that Tick prints outside of groups.
func TestProgressLine(t *testing.T) {
	for _, c := range progressLines {
		var log jobLog
		m, at := NewLiveModel(), nine
		m.Resume(&state.Run{Progress: state.Progress{TotalUSD: c.spent}})
		j := NewJobReporter(&log, m, ConsoleOptions{})
		for _, deed := range append([]any{&state.StateStarted{Kind: "prompt"}}, c.deeds...) {
			switch deed := deed.(type) {
			case runner.Progress:
				j.console.now = at // the time of the last call of Tick
				must(t, j.Doing("main", "A.md", deed))
			case *state.RunStarted, *state.Limit:
				report(t, j, state.Event{Time: at, Body: deed.(state.Body)})
			case state.Body:
				report(t, j, state.Event{Time: at, Agent: "main", State: "A.md", Body: deed})
			}
			at = at.Add(10 * time.Second)
		}
		must(t, j.Tick(at.Add(50*time.Second)))
		assert.Check(t, is.Equal(log.visible[len(log.visible)-1], "main at A.md: "+c.want), c.what)
		closed(t, j)
		log.check(t, c.what)
	}
}

// TestJobColours checks the colors of marks. Their texts are checked by the golden files of the job
// log.
func TestJobColours(t *testing.T) {
	for _, name := range []string{"forks", "failed"} {
		var log jobLog
		j := NewJobReporter(&log, NewLiveModel(), ConsoleOptions{WorkflowID: "review-1a2b3c4d", Color: true})
		replayFile(t, name, advisedReporter{&tickingReporter{to: j, every: 5 * time.Second}, "start again"})
		goldenFile(t, name+".job-colour.txt", strings.ReplaceAll(strings.Join(log.painted, "\n")+"\n", "\x1b", "^["))
	}
}
