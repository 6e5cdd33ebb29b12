package state_test

import (
	"testing"

	"github.com/raymond-action/raymond-action/state"
)

// shares is a cost of a dollar, of which some is known by model.
func shares(byModel ...state.ModelCost) state.Cost {
	return state.Cost{Kind: state.Exact, USD: state.Dollar, Usage: byModel}
}

func share(model string, usd state.USD) state.ModelCost {
	return state.ModelCost{Usage: state.Usage{Model: model, Input: 1}, CostUSD: usd}
}

// TestCostByModel: the shares of all invocations of an execution add up, those of failed ones
// and refused answers too, whether or not the process dies between any two of them. What is
// known only as a sum is nobody's share. After a failure they begin anew, as in another state.
func TestCostByModel(t *testing.T) {
	outcomes := []state.Outcome{answers("died"), answers("mute"), answers("died"), answers("fatal"), answers("work"), answers("work")}
	for i, usage := range [][]state.ModelCost{
		{share("opus", 3), share("haiku", 1)}, {share("opus", 5), share("free", 0)}, nil, {share("sonnet", 11)}, {share("opus", 2)}, nil,
	} {
		outcomes[i].Cost = shares(usage...)
	}
	outcomes[3].Failure.Continue = true
	for died := range len(outcomes) + 1 {
		p := newPlay(t, func(o *state.Options) { o.MaxRetries = 3 })
		for n, o := range outcomes {
			if n == died {
				var err error
				p.run, err = state.Decode(fileOf(t, p.run))
				must(t, err)
			}
			if n == died || n == 4 {
				p.resume(nil)
			}
			p.start("main")
			p.end("main", o)
		}
		done := bodies[*state.StateFinished](p)
		equal(t, "executions that ended", len(done), 3)
		equal(t, "costs", []state.USD{done[0].CostUSD, done[1].CostUSD, done[2].CostUSD}, []state.USD{4 * state.Dollar, state.Dollar, state.Dollar})
		equal(t, "of the first", done[0].Models, map[string]state.USD{"opus": 8, "haiku": 1, "sonnet": 11})
		equal(t, "when it had gone on", done[1].Models, map[string]state.USD{"opus": 2})
		equal(t, "of the next one", done[2].Models, map[string]state.USD(nil))
	}
}
