package state_test

import (
	"testing"

	"github.com/raymond-action/raymond-action/state"
)

// TestCostByModel: the shares of all invocations of an execution add up, those of failed ones
// and refused answers too, whether or not the process dies between any two of them. What is
// known only as a sum is nobody's share. After a failure they begin anew, as in another state.
func TestCostByModel(t *testing.T) {
	share := func(model string, usd state.USD) state.ModelCost {
		return state.ModelCost{Usage: state.Usage{Model: model, Input: 1}, CostUSD: usd}
	}
	invocations := []struct {
		word  string
		usage []state.ModelCost
	}{
		{"died", []state.ModelCost{share("opus", 3), share("haiku", 1)}}, {"mute", []state.ModelCost{share("opus", 5), share("free", 0)}}, {"died", nil},
		{"fatal", []state.ModelCost{share("sonnet", 11)}}, {"work", []state.ModelCost{share("opus", 2)}}, {"work", nil},
	}
	for died := range len(invocations) + 1 {
		p := newPlay(t, func(o *state.Options) { o.MaxRetries = 3 })
		for n, i := range invocations {
			if n == died || i.word == "work" && n == 4 {
				p.resume(nil)
			}
			o := answers(i.word)
			o.Cost = state.Cost{Kind: state.Exact, USD: state.Dollar, Usage: i.usage}
			if o.Failure != nil {
				o.Failure.Continue = i.word == "fatal"
			}
			p.ends("main", o)
		}
		done := bodies[*state.StateFinished](p)
		equal(t, "executions that ended", len(done), 3)
		equal(t, "costs", []state.USD{done[0].USD, done[1].USD, done[2].USD}, []state.USD{4 * state.Dollar, state.Dollar, state.Dollar})
		equal(t, "by model", []map[string]state.USD{done[0].Models, done[1].Models, done[2].Models},
			[]map[string]state.USD{{"opus": 8, "haiku": 1, "sonnet": 11}, {"opus": 2}, nil})
	}
}
