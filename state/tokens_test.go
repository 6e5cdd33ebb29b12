package state_test

import (
	"testing"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/state"
)

// inTokens is the outcome of an invocation whose agent CLI tells tokens alone, as the
// runner hands it over: usd is what those of them cost that have a price.
func inTokens(used state.Usage, usd state.USD, unpriced int64) state.Outcome {
	return state.Outcome{
		Cost: state.Cost{
			Kind: state.Exact, USD: usd, Usage: []state.ModelCost{{Usage: used, CostUSD: usd}}, Unpriced: unpriced, Listed: true,
		},
		Decision: protocol.Decision{Then: goTo("B.md")},
	}
}

// TestTokensWithoutAPrice: they are in the ledger, the events and every sum beside the
// dollars, and are no unknown cost; under a budget they count as one.
func TestTokensWithoutAPrice(t *testing.T) {
	used := state.Usage{Model: "m", Input: 1000, CacheRead: 200, CacheWrite: 30, Output: 4}
	p := newPlay(t, func(o *state.Options) { o.BudgetUSD = 0 })
	for range 4 {
		p.ends("main", inTokens(used, 0, 1234))
	}
	equal(t, "without a budget", p.next(0), "main")
	equal(t, "spent", p.run.Spent(), state.Spent{Unpriced: 4 * 1234})
	last := bodies[*state.StateFinished](p)[3]
	equal(t, "of the state", []any{last.USD, last.Unpriced, last.Unknown, *last.Tokens},
		[]any{state.USD(0), int64(1234), 0, state.Tokens{Input: 1030, Cached: 200, Output: 4}})
	p.ends("main", inTokens(used, 7, 0))
	equal(t, "some with a price", p.run.Spent(), state.Spent{USD: 7, Unpriced: 4 * 1234})

	p = newPlay(t, func(o *state.Options) { o.BudgetUSD = state.Dollar })
	for range 3 {
		p.ends("main", inTokens(used, 7, 1))
	}
	equal(t, "under a budget", []any{p.next(0), p.agent("main").Status}, []any{"", state.Stuck})
}

// TestListedPricesHold: what a CLI that tells no dollars used beyond its report has the
// price of the list, whatever other invocations have cost by their weights, and the tokens
// of a lost one are counted.
func TestListedPricesHold(t *testing.T) {
	used := state.Usage{Model: "m", Output: 1000}
	p := newPlay(t, nil)
	p.ends("main", inTokens(state.Usage{Model: "m", Input: 1000}, 1_000_000, 0))
	p.start("main")
	o := inTokens(used, 0, 0)
	o.Cost.Kind, o.Cost.Usage, o.Used = "", nil, []state.ModelCost{{Usage: used, CostUSD: 8_000_000}}
	p.end("main", o)
	last := p.run.Ledger[1]
	equal(t, "a cut answer", []any{last.Kind, last.CostUSD}, []any{state.Estimated, state.USD(8_000_000)})

	p.start("main")
	p.do(func(s *state.Step) {
		s.Resume(map[string]state.Lost{"main": {Used: []state.ModelCost{{Usage: used}}, Unpriced: 1000, Listed: true}})
	})
	last = p.run.Ledger[2]
	equal(t, "a lost one", []any{last.Kind, last.CostUSD, last.Unpriced}, []any{state.Estimated, state.USD(0), int64(1000)})
	equal(t, "its tokens", *p.agent("main").Exec.Tokens, state.Tokens{Output: 1000})
}

// TestNamesOfModels: the same model has a price whatever its service calls it.
func TestNamesOfModels(t *testing.T) {
	for _, same := range [][2]string{
		{"gpt-5", "gpt-5-2025-08-07"}, {"openai/gpt-5", "gpt-5"}, {"models/gemini-2.5-pro", "gemini-2.5-pro"},
	} {
		equal(t, same[0], state.SameModel(same[0], same[1]), true)
	}
	equal(t, "a part of a name", state.SameModel("gpt-5", "gpt-5-9999-99-99"), false)
}
