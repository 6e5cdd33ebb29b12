package report

import (
	"fmt"
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/state"
)

// TestLastAttempt states that a failure is explained by an attempt of the state that
// failed, not by one of a state before it.
func TestLastAttempt(t *testing.T) {
	failing := &state.NodeAttempt{Attempt: 2, Results: []state.CommandResult{{Cmd: "make", RC: 1, Tail: "broken\n"}}}
	for _, c := range []struct {
		what   string
		events []state.Body
		want   bool
	}{
		{"its last attempt failed", []state.Body{&state.StateStarted{}, failing}, true},
		{"its last attempt was done", []state.Body{&state.StateStarted{}, failing, &state.NodeAttempt{Attempt: 3, Converged: true}}, false},
		{"a state before gave up", []state.Body{&state.StateStarted{}, failing, &state.StateFinished{}, &state.StateStarted{}}, false},
	} {
		var p page
		s := NewSummary(NewLiveModel(), SummaryOptions{Write: p.write, Now: frozen})
		for _, b := range append(c.events, &state.AgentFinished{Error: "no"}) {
			report(t, s, state.Event{Time: nine, Agent: "main", State: "A.md", Body: b})
		}
		const want = "The end of what `make` wrote:\n\n```text\nbroken\n```\n"
		for what, text := range map[string]string{"summary": s.page(), "overview": s.Overview()} {
			if got := strings.Contains(text, want); got != c.want {
				t.Errorf("%s: the %s explains the failure by it: %t, want %t:\n%s", c.what, what, got, c.want, text)
			}
		}
	}
}

// TestCostByModel states which models costs are booked on.
func TestCostByModel(t *testing.T) {
	const cent = state.Dollar / 100
	for _, c := range []struct {
		what  string
		asked string
		ended []state.StateFinished
		want  string
	}{
		{"nothing is known", "", []state.StateFinished{{CostUSD: cent}}, ""},
		{"a script", "", []state.StateFinished{{}}, ""},
		{"only what was asked for", "opus", []state.StateFinished{{CostUSD: cent}, {CostUSD: cent}}, "Cost by model: `opus` $0.0200\n"},
		{"all of it", "opus", []state.StateFinished{{CostUSD: 3 * cent, Models: map[string]state.USD{"b": 2 * cent, "a": cent}}}, "Cost by model: `b` $0.0200, `a` $0.0100\n"},
		{"tokens without a price", "gpt", []state.StateFinished{{Unpriced: 1500}, {Unpriced: 500}}, "Cost by model: `gpt` 2.0k tokens\n"},
		{"some without a price", "gpt", []state.StateFinished{{CostUSD: cent, Unpriced: 500, Models: map[string]state.USD{"b": cent}}}, "Cost by model: `b` $0.0100, other 500 tokens\n"},
		{"a part of it", "opus", []state.StateFinished{{CostUSD: 3 * cent, Models: map[string]state.USD{"b": cent}}}, "Cost by model: `b` $0.0100, other $0.0200\n"},
	} {
		var p page
		s := NewSummary(NewLiveModel(), SummaryOptions{Write: p.write, Now: frozen})
		for _, b := range c.ended {
			report(t, s, state.Event{Agent: "main", State: "A.md", Body: &state.StateStarted{Model: c.asked}})
			report(t, s, state.Event{Agent: "main", State: "A.md", Body: &b})
		}
		got := s.page()
		if c.want == "" && strings.Contains(got, "Cost by model: ") || !strings.Contains(got, c.want) {
			t.Errorf("%s: want %q in:\n%s", c.what, c.want, got)
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

// TestSummaryTellsOfAttempts states that the last twenty attempts have rows.
func TestSummaryTellsOfAttempts(t *testing.T) {
	var p page
	s := NewSummary(NewLiveModel(), SummaryOptions{Write: p.write, Now: frozen})
	about := func(b state.Body) {
		report(t, s, state.Event{Time: nine, Agent: "main", State: "BUILD.md", Body: b})
	}
	about(&state.StateStarted{Kind: "prompt"})
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
		fmt.Sprintf(row, 11): 0, fmt.Sprintf(row, 12): 1, "The end of what": 0,
	} {
		if got := strings.Count(p.text, want); got != times {
			t.Errorf("got %d times %q, want %d times, in\n%s", got, want, times, p.text)
		}
	}
}
