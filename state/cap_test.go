package state_test

import (
	"testing"

	"github.com/raymond-action/raymond-action/state"
)

const cent = state.Dollar / 100

// TestLimitsOnManyRuns: the tightest limit holds, ends the run by its name when it is
// reached, and not only when it is exceeded; what the run had cost before this part of it
// doesn't count once more.
func TestLimitsOnManyRuns(t *testing.T) {
	perKey := state.NewCap(state.BudgetPerKey, 50*cent, 20*cent, 0)
	perDay := state.NewCap(state.BudgetPerDay, 90*cent, 20*cent, 0)
	for _, c := range []struct {
		name   string
		budget state.USD
		caps   []state.Cap
		costs  []state.USD
		which  string // "" for a run that continues
		value  float64
		reason string
		left   state.USD // for the agent that runs first
	}{
		{"nothing is left", 0, []state.Cap{state.NewCap(state.BudgetPerKey, 50*cent, 50*cent, 0)}, nil, state.BudgetPerKey, 0.5,
			"budget-per-key: the runs of this key have spent $0.5 of $0.5 in 24 hours", 0},
		{"more was spent than is allowed", 10 * state.Dollar, []state.Cap{state.NewCap(state.BudgetPerDay, 50*cent, 70*cent, 0)}, nil, state.BudgetPerDay, 0.7,
			"budget-per-day: the runs of this workflow file have spent $0.7 of $0.5 in 24 hours", 0},
		{"within all", 10 * state.Dollar, []state.Cap{perKey, perDay}, []state.USD{29 * cent}, "", 0, "", 30 * cent},
		{"the tighter one", 10 * state.Dollar, []state.Cap{perDay, perKey}, []state.USD{10 * cent, 20 * cent}, state.BudgetPerKey, 0.5,
			"budget-per-key: the runs of this key have spent $0.5 of $0.5 in 24 hours", 30 * cent},
		{"the budget of the run", 25 * cent, []state.Cap{perKey}, []state.USD{26 * cent}, "budget", 0.26, "spent $0.26 of a budget of $0.25", 25 * cent},
		{"the run has cost before", 0, []state.Cap{state.NewCap(state.BudgetPerKey, 50*cent, 20*cent, 40*cent)}, []state.USD{40 * cent, 29 * cent}, "", 0, "", 30 * cent},
	} {
		p := newPlay(t, func(o *state.Options) { o.BudgetUSD, o.Caps = c.budget, c.caps })
		equal(t, c.name+": what an agent may spend", p.run.Options.Left(0), c.left)
		for _, usd := range c.costs {
			p.ends("main", moves(usd, goTo("B.md")))
		}
		if c.which == "" {
			equal(t, c.name, p.next(0), "main")
			continue
		}
		equal(t, c.name, p.next(0), "")
		p.do(func(s *state.Step) { s.Close(s.Closing(nil)) })
		equal(t, c.name+": status", []string{string(p.run.Progress.Status), p.run.Progress.Reason}, []string{string(state.OverBudget), c.reason})
		told := bodies[*state.Limit](p)
		last := told[len(told)-1]
		equal(t, c.name+": event", []any{last.Which, last.Value}, []any{c.which, c.value})
		which, _, _ := p.run.ReachedCap()
		equal(t, c.name+": reached", which, map[bool]string{false: c.which}[c.which == "budget"])
	}
}
