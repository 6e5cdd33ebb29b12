package runner_test

import (
	"testing"
	"testing/synctest"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/runner/prices"
	"github.com/raymond-action/raymond-action/state"
)

// tokensOnly returns a run whose agent CLI reports tokens but no cost. The run has its own price
// list.
func tokensOnly(t *testing.T, f flow, change func(*state.Options)) *loop {
	l := newLoop(t, f, change)
	l.inTokens = true
	l.cfg.ListPrice = prices.Table{Custom: map[string]state.Price{"dear": {Input: 10, CachedInput: 5, Output: 100}}}.Cost
	return l
}

// TestTokensArePriced checks the cost of invocations if the agent CLI reports only tokens. The price
// of its model applies exactly. Usage that the key proxy counted beyond the report is added, with
// its surcharge. A model without a price counts as its vendor's most expensive one. If the vendor
// is unknown, the run counts tokens without a price.
func TestTokensArePriced(t *testing.T) {
	used := state.Usage{Input: 1000, CacheRead: 200, Output: 50}
	seen := func(model string, input int64, surcharge state.USD) []state.Usage {
		return []state.Usage{{Model: model, Input: input, CacheRead: 200, Output: 50, Surcharge: surcharge}}
	}
	dear := func(input int64) state.USD { return (10*state.USD(input) + 5*200 + 100*50) * state.Dollar / 1e6 }
	dearest, hasPrice := prices.Table{}.Cost(seen("claude-next", 2000, 0)[0])
	same(t, "claude-next: dear, without a price", []bool{true, false}, []bool{dearest > 3*state.Dollar/100, hasPrice})
	for name, c := range map[string]struct {
		model   string
		metered []state.Usage
		want    state.Spent
	}{
		"with a price":         {"dear", nil, state.Spent{USD: dear(1000)}},
		"more than is used":    {"dear", seen("dear", 2000, 0), state.Spent{USD: dear(2000), Estimated: true}},
		"a surcharge":          {"dear", seen("dear", 1000, 1234), state.Spent{USD: dear(1000) + 1234}},
		"of a known vendor":    {"claude-next", seen("claude-next", 2000, 0), state.Spent{USD: dearest, Estimated: true}},
		"of an unknown vendor": {"unheard-of", nil, state.Spent{Unpriced: used.Total()}},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := tokensOnly(t, flow{"A": "---\nmodel: " + c.model + "\n---\n<result>done</result>"}, func(o *state.Options) { o.BudgetUSD = 0 })
			l.metered = c.metered
			l.drive(false, state.Completed)
			same(t, name, c.want, l.run.Spent())
		})
	}
}

// TestOrderHasCountOfConversation checks that an order to resume or branch a conversation contains
// the CLI's own running total of the conversation's cost.
func TestOrderHasCountOfConversation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLoop(t, flow{"A": "<goto>B</goto>", "B": `<call return="C">S</call>`, "S": "<result>s</result>", "C": "<reset>D</reset>", "D": "<result>d</result>"}, nil)
		l.drive(false, state.Completed)
		var cents []state.USD
		for _, o := range l.orders {
			cents = append(cents, o.Prompt.Reached.USD*100/state.Dollar)
		}
		same(t, "cents: fresh, resumed, branched, resumed, fresh", []state.USD{0, 10, 20, 20, 0}, cents)
	})
}

// TestBudgetNeedsPrice checks that, in a run with a budget, no invocation starts whose price is
// unknown. The reason must explain how to give a price.
func TestBudgetNeedsPrice(t *testing.T) {
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
				assert.Check(t, is.Contains(l.run.Progress.Reason, part), "%q: reason", model)
			}
			l.override = &state.Options{}
			*l.override = l.run.Options
			l.override.BudgetUSD = 0
			l.drive(true, state.Completed)
			same(t, "resumed without a budget", 1, len(l.orders))
		})
	}
}
