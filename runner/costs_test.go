package runner_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/raymond-action/raymond-action/runner/prices"
	"github.com/raymond-action/raymond-action/state"
)

// tokensOnly is a run whose agent CLI tells tokens and no dollars, with prices of its own.
func tokensOnly(t *testing.T, f flow, change func(*state.Options)) *loop {
	l := newLoop(t, f, change)
	l.inTokens = true
	l.cfg.ListPrice = prices.Book{Given: map[string]state.Price{"dear": {Input: 10, CachedInput: 5, Output: 100}}}.Of
	return l
}

// TestTokensArePriced: what a CLI tells in tokens costs exactly what its model's price makes
// of it; without a price the tokens are booked beside the dollars.
func TestTokensArePriced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := flow{"A": "---\nmodel: dear\n---\n<reset>B.md</reset>", "B": "<result>done</result>"}
		l := tokensOnly(t, f, func(o *state.Options) { o.BudgetUSD = 0 })
		l.drive(false, state.Completed)
		cost := state.USD(10*1000+5*200+100*50) * state.Dollar / 1e6
		same(t, "spent", state.Spent{USD: cost, Unpriced: 1250}, l.run.Spent())
		same(t, "entries", []state.CostKind{state.Exact, state.Exact}, []state.CostKind{l.run.Ledger[0].Kind, l.run.Ledger[1].Kind})
		same(t, "tokens told", state.Tokens{Input: 1000, Cached: 200, Output: 50}, *told[*state.StateFinished](l)[0].Tokens)
	})
}

// TestMeteredTokensWithoutDollars: what a key proxy has counted beyond what the CLI tells is
// added at the price of the model.
func TestMeteredTokensWithoutDollars(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := tokensOnly(t, flow{"A": "---\nmodel: dear\n---\n<result>done</result>"}, nil)
		l.metered = []state.Usage{{Model: "dear", Input: 2000, CacheRead: 200, Output: 50}}
		l.drive(false, state.Completed)
		cost := state.USD(10*2000+5*200+100*50) * state.Dollar / 1e6
		same(t, "entry", []any{state.Estimated, cost}, []any{l.run.Ledger[0].Kind, l.run.Ledger[0].CostUSD})
	})
}

// TestSurchargesAreOfTheTokensThatAreTold: what the proxy knows of the requests, as that one was long, is in the cost.
func TestSurchargesAreOfTheTokensThatAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := tokensOnly(t, flow{"A": "---\nmodel: dear\n---\n<result>done</result>"}, nil)
		l.metered = []state.Usage{{Model: "dear", Input: 1000, CacheRead: 200, Output: 50, Surcharge: 1234}}
		l.drive(false, state.Completed)
		cost := state.USD(10*1000+5*200+100*50)*state.Dollar/1e6 + 1234
		same(t, "entry", []any{state.Exact, cost}, []any{l.run.Ledger[0].Kind, l.run.Ledger[0].CostUSD})
	})
}

// TestAModelWithoutAPriceIsTheDearestOfItsVendor: its tokens are booked at the dearest rate, as an estimate, and so is
// what the key proxy has counted beyond them.
func TestAModelWithoutAPriceIsTheDearestOfItsVendor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := tokensOnly(t, flow{"A": "---\nmodel: claude-next\n---\n<result>done</result>"}, func(o *state.Options) { o.BudgetUSD = 0 })
		l.cfg.ListPrice = prices.Book{}.Of
		l.metered = []state.Usage{{Model: "claude-next", Input: 2000, CacheRead: 200, Output: 50}}
		l.drive(false, state.Completed)
		dearest, hasPrice := prices.Book{}.Of(l.metered[0])
		same(t, "spent", state.Spent{USD: dearest, Estimated: true}, l.run.Spent())
		same(t, "dear, without a price", []bool{true, false}, []bool{dearest > 3*state.Dollar/100, hasPrice})
	})
}

// TestBudgetNeedsAPrice: under a budget no invocation starts of which nobody could say what
// it costs, and the reason says how to give a price.
func TestBudgetNeedsAPrice(t *testing.T) {
	for model, want := range map[string]string{
		"": "no model is named", "cheap": "its model cheap has no price", "dear": "",
	} {
		synctest.Test(t, func(t *testing.T) {
			l := tokensOnly(t, flow{"A": "<result>done</result>"}, func(o *state.Options) { o.Model = model })
			if want == "" {
				l.drive(false, state.Completed)
				same(t, "invocations", 1, len(l.orders))
				return
			}
			l.drive(false, state.Failed)
			same(t, "invocations", 0, len(l.orders))
			for _, part := range []string{want, "--prices FILE", "--budget 0"} {
				if !strings.Contains(l.run.Progress.Reason, part) {
					t.Errorf("%q: reason %q, want %q in it", model, l.run.Progress.Reason, part)
				}
			}
			l.over = &state.Options{}
			*l.over = l.run.Options
			l.over.BudgetUSD = 0
			l.drive(true, state.Completed)
			same(t, "resumed without a budget", 1, len(l.orders))
		})
	}
}
