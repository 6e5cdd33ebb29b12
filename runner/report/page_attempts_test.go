package report

import (
	"fmt"
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/state"
)

// TestCostByModel states which models costs are booked on: those that are known, else the one that was
// asked for; of many models the first ones.
func TestCostByModel(t *testing.T) {
	const cent = state.Dollar / 100
	for want, ended := range map[string][]state.StateFinished{
		"":                                       {{CostUSD: 0}},
		"Cost by model: `asked` $0.0200\n\n":     {{CostUSD: cent}, {CostUSD: cent}},
		"Cost by model: `asked` 2.0k tokens\n\n": {{Unpriced: 1500}, {Unpriced: 500}},
		"Cost by model: `b` $0.0200, `a` $0.0100, other $0.0100\n\n": {{CostUSD: 4 * cent, Models: map[string]state.USD{"b": 2 * cent, "a": cent}}},
	} {
		m := NewModel()
		for i, b := range ended {
			m.Add(state.Event{Agent: "main", State: "A.md", Exec: i + 1, Body: &state.StateStarted{Model: "asked"}})
			m.Add(state.Event{Agent: "main", State: "A.md", Exec: i + 1, Body: &b})
		}
		if got := costsByModel(m.ByModel()); got != want {
			t.Errorf("%+v: got %q, want %q", ended, got, want)
		}
	}
	many := NewModel()
	for i := range 30 {
		models := map[string]state.USD{fmt.Sprint("model", i+1): cent, "model0": cent}
		many.Add(state.Event{Agent: "main", State: "A.md", Exec: i + 1, Body: &state.StateFinished{OK: true, DurationMS: 10, CostUSD: 2 * cent, Models: models}})
	}
	sums := many.ByModel()
	if got := costsByModel(sums); strings.Count(got, "`model") != maxModels || !strings.Contains(got, "other $0.2100") || sums[0].DurationMS != 300 || sums[0].Executions != 30 {
		t.Errorf("30 models: %+v %s, want %d of them and the rest, and all time in the dearest", sums[0], got, maxModels)
	}
}

// TestSummaryTellsOfAttempts states that the last twenty attempts have rows, and that a blank line alone
// is nothing that an agent said.
func TestSummaryTellsOfAttempts(t *testing.T) {
	var p page
	s := NewSummary(NewLiveModel(), SummaryOptions{Write: p.write, Now: frozen})
	about := func(b state.Body) {
		report(t, s, state.Event{Time: nine, Agent: "main", State: "BUILD.md", Body: b})
	}
	about(&state.StateStarted{Kind: "prompt"})
	about(&state.AgentOutput{})
	for i := range 30 {
		about(&state.NodeAttempt{Attempt: i + 1, DurationS: 60, CostUSD: state.Dollar / 10, Results: []state.CommandResult{
			{Cmd: "go vet"}, {Cmd: "go test", RC: 1, Tail: fmt.Sprintf("%s\nFAIL number %d\n", strings.Repeat("=\n", 2000), i+1)}, {Cmd: "lint", RC: 2, Tail: "lint!"},
		}})
	}
	about(&state.NodeAttempt{Attempt: 31, Converged: true})
	about(&state.StateFinished{OK: true})
	closed(t, s)
	const row = "\n| %d | `BUILD.md` | 1m00s | $0.1000 | `go test` ended with exit code 1, and 1 more command failed |\n"
	for want, times := range map[string]int{
		"| `BUILD.md` | 1m00s |": 19, "\n| 31 | `BUILD.md` | 0.0s | $0.0000 | done at attempt 31 |\n": 1, "| … | 11 attempts before these |": 1,
		fmt.Sprintf(row, 11): 0, fmt.Sprintf(row, 12): 1, "The end of what": 0, "What it said": 0,
	} {
		if got := strings.Count(p.text, want); got != times {
			t.Errorf("got %d times %q, want %d times, in\n%s", got, want, times, p.text)
		}
	}
}
