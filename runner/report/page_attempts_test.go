package report

import (
	"fmt"
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/state"
)

// loopOf returns the summary of a state with a number of failed attempts and one more,
// which is done or not.
func loopOf(t *testing.T, failures int, isDone bool) string {
	t.Helper()
	var p page
	s := NewSummary(SummaryOptions{Write: p.write, Now: frozen})
	about := func(b state.Body) { report(t, s, state.Event{Time: nine, Agent: "main", State: "BUILD.md", Body: b}) }
	about(&state.StateStarted{Kind: "prompt"})
	for i := range failures {
		about(&state.NodeAttempt{Attempt: i + 1, DurationS: 60, CostUSD: state.Dollar / 10, Reason: "done_when_failed", Results: []state.CommandResult{
			{Cmd: "go vet ./..."}, {Cmd: "go test ./...", RC: 1, Tail: fmt.Sprintf("%s\nFAIL number %d\n", strings.Repeat("=\n", 2000), i+1)}, {Cmd: "lint", RC: 2, Tail: "lint!"},
		}})
	}
	about(&state.NodeAttempt{Attempt: failures + 1, Converged: isDone, Reason: "no_transition_tag"})
	about(&state.StateFinished{OK: isDone})
	report(t, s, state.Event{Time: nine, Body: &state.RunFinished{Status: state.Completed}})
	return p.text
}

// TestSummaryTellsOfAttempts states that each of the last twenty attempts has a row with
// its verdict, and that for the last three that failed the end of the command's output is
// shown.
func TestSummaryTellsOfAttempts(t *testing.T) {
	for _, failures := range []int{0, 1, 3, 4, 19, 30} {
		got := loopOf(t, failures, true)
		for i := range failures {
			isListed := strings.Contains(got, fmt.Sprintf("\n| %d | `BUILD.md` | 1m00s | $0.1000 | `go test ./...` ended with exit code 1, and 1 more command failed |\n", i+1))
			if want := i >= failures-19; isListed != want {
				t.Errorf("%d attempts failed: attempt %d is listed: %t, want %t:\n%s", failures, i+1, isListed, want, got)
			}
			isShown := strings.Contains(got, fmt.Sprintf("FAIL number %d\n```", i+1))
			if want := i >= failures-3; isShown != want {
				t.Errorf("%d attempts failed: the output of attempt %d is shown: %t, want %t:\n%s", failures, i+1, isShown, want, got)
			}
		}
		verdict := fmt.Sprintf("done at attempt %d", failures+1)
		if failures == 0 {
			verdict = "done"
		}
		for want, isThere := range map[string]bool{
			fmt.Sprintf("\n| %d | `BUILD.md` | 0.0s | $0.0000 | %s |\n", failures+1, verdict): true,
			"flake": false, fmt.Sprintf("| … | %s before these |", count(failures-19, "attempt")): failures > 19,
		} {
			if strings.Contains(got, want) != isThere {
				t.Errorf("%d attempts failed, then one was done: the summary has %q: %t\n%s", failures, want, !isThere, got)
			}
		}
	}
}

// TestSummaryOfAnAttemptWithoutOutput states that the verdict is the reason if no
// command failed.
func TestSummaryOfAnAttemptWithoutOutput(t *testing.T) {
	if got, want := loopOf(t, 0, false), "\n| 1 | `BUILD.md` | 0.0s | $0.0000 | `no_transition_tag` |\n"; !strings.Contains(got, want) {
		t.Errorf("summary of an attempt without a tag has no %q:\n%s", want, got)
	}
}

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
		s := NewSummary(SummaryOptions{Write: p.write, Now: frozen})
		for _, b := range append(c.events, &state.AgentFinished{Error: "no"}) {
			report(t, s, state.Event{Time: nine, Agent: "main", State: "A.md", Body: b})
		}
		const want = "Its last attempt: `make` ended with exit code 1:\n\n```text\nbroken\n```\n"
		for what, text := range map[string]string{"summary": s.document().page(), "overview": s.Overview()} {
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
		s := NewSummary(SummaryOptions{Write: p.write, Now: frozen})
		for _, b := range c.ended {
			report(t, s, state.Event{Agent: "main", State: "A.md", Body: &state.StateStarted{Model: c.asked}})
			report(t, s, state.Event{Agent: "main", State: "A.md", Body: &b})
		}
		got := s.document().page()
		// Once for the run and once for the agent.
		if n := strings.Count(got, "Cost by model: "); c.want == "" && n > 0 || c.want != "" && strings.Count(got, c.want) != 2 {
			t.Errorf("%s: the summary tells costs %d times, want twice %q:\n%s", c.what, n, c.want, got)
		}
	}
	l := modelCosts{}
	for i := range 30 {
		l.add(fmt.Sprint("model", i), state.Spent{USD: cent})
	}
	if got := l.String(); strings.Count(got, "`model") != maxModels || !strings.Contains(got, "other $0.2000") {
		t.Errorf("30 models: %s, want %d of them and the rest", got, maxModels)
	}
}

// TestSumsByState states that a long run has a table with the sums of each state, the most
// expensive first, and that a short one has none.
func TestSumsByState(t *testing.T) {
	for _, n := range []int{25, 26, 200} {
		var p page
		s := NewSummary(SummaryOptions{Write: p.write, Now: frozen})
		for i := range n {
			name := []string{"A.md", "B.md"}[i%2]
			report(t, s, state.Event{Agent: "main", State: name, Body: &state.StateStarted{Kind: "prompt"}})
			cost := state.USD(1+i%2) * state.Dollar
			report(t, s, state.Event{Agent: "main", State: name, Body: &state.StateFinished{OK: i != 1, CostUSD: cost, DurationMS: 1000}})
		}
		got := s.document().page()
		b, a := n/2, (n+1)/2
		want := fmt.Sprintf("\n| `B.md` | %d | 1 | %s | $%d.00 |\n| `A.md` | %d |  | %s | $%d.00 |\n",
			b, millis(int64(b)*1000), 2*b, a, millis(int64(a)*1000), a)
		if isSummed := strings.Contains(got, want); isSummed != (n > 25) {
			t.Errorf("%d executions: sums %q are told: %t, want %t:\n%s", n, want, isSummed, n > 25, got)
		}
		if isFolded := strings.Contains(got, fmt.Sprintf("<details><summary>All %d state executions</summary>", n)); isFolded != (n > 25) {
			t.Errorf("%d executions: the table is folded: %t", n, isFolded)
		}
	}
}
