package report

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/raymond-action/raymond-action/state"
)

// Spent is what something cost.
type Spent struct {
	state.Spent
	Tokens *state.Tokens `json:"tokens,omitempty"`
}

// Plus returns the sum of both.
func (s Spent) Plus(t Spent) Spent {
	return Spent{s.Spent.Plus(t.Spent), PlusTokens(s.Tokens, t.Tokens)}
}

// PlusTokens returns the sum of both, nil when neither is known.
func PlusTokens(a, b *state.Tokens) *state.Tokens {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	return &state.Tokens{Input: a.Input + b.Input, Cached: a.Cached + b.Cached, Output: a.Output + b.Output}
}

// Sum is what all executions of something cost.
type Sum struct {
	Name       string `json:"name"`
	Executions int    `json:"executions"`
	Failed     int    `json:"failed"`
	Retries    int    `json:"retries"` // and attempts beyond the first
	DurationMS int64  `json:"duration_ms"`
	Spent      Spent  `json:"spent"`
}

// sums adds up executions by a name.
type sums map[string]*Sum

func (s sums) of(name string) *Sum {
	if s[name] == nil {
		s[name] = &Sum{Name: name}
	}
	return s[name]
}

// ByState returns the sums of states, the most expensive first, with the executions that have
// not ended.
func (m *Model) ByState() []Sum { return m.sorted(m.byState, func(x *Exec) string { return x.State }) }

// ByAgent is ByState for agents.
func (m *Model) ByAgent() []Sum { return m.sorted(m.byAgent, func(x *Exec) string { return x.Agent }) }

func (m *Model) sorted(s sums, name func(*Exec) string) []Sum {
	open := map[string]Spent{}
	for _, x := range m.open() {
		open[name(x)] = open[name(x)].Plus(x.Spent)
	}
	out := make([]Sum, 0, len(s))
	for _, sum := range s {
		one := *sum
		one.Spent = one.Spent.Plus(open[sum.Name])
		out = append(out, one)
	}
	slices.SortFunc(out, Dearest)
	return out
}

// Dearest orders sums, the most expensive first.
func Dearest(a, b Sum) int {
	return cmp.Or(cmp.Compare(b.Spent.USD, a.Spent.USD), cmp.Compare(b.DurationMS, a.DurationMS), cmp.Compare(a.Name, b.Name))
}

// maxModels is how many models have costs of their own.
const maxModels = 10

// modelCosts is what was spent, by model. The key "" has what is not known by model.
type modelCosts map[string]state.Spent

// book adds what was spent. models has the shares that are known by model; the rest is
// booked on the model that was asked for.
func (c modelCosts) book(spent state.Spent, models map[string]state.USD, asked string) {
	rest := spent
	for model, usd := range models {
		rest.USD -= usd
		c.add(model, state.Spent{USD: usd, Estimated: spent.Estimated})
	}
	if len(models) > 0 {
		asked = ""
	}
	c.add(asked, rest)
}

// add books an amount on a model. Beyond maxModels it adds to what is not known by
// model.
func (c modelCosts) add(model string, spent state.Spent) {
	model = cut(model, widestCell)
	if _, ok := c[model]; !ok && len(c) >= maxModels {
		model = ""
	}
	if spent.USD > 0 || spent.Unknown > 0 || spent.Unpriced > 0 {
		c[model] = c[model].Plus(spent)
	}
}

// with returns the costs with those of executions that have not ended.
func (c modelCosts) with(open ...*Exec) modelCosts {
	sum := maps.Clone(c)
	for _, x := range open {
		if x != nil {
			sum.book(x.Spent.Spent, x.Models, "")
		}
	}
	return sum
}

// runCosts is what a run has cost.
type runCosts struct {
	counted state.Spent // up to the end of the last part
	since   state.Spent // in states that ended since then
	atLimit state.Spent // as the last warning about the budget has it
}

// end takes the total that the end of a part of the run has.
func (c *runCosts) end(b *state.RunFinished) {
	c.counted, c.since, c.atLimit = b.Spent(), state.Spent{}, state.Spent{}
}

// total is what the run has cost so far, as far as events tell.
func (c *runCosts) total() state.Spent { return c.counted.Plus(c.since).AtLeast(c.atLimit) }

// budget is that of the run, 0 for none.
func (m *Model) budget() state.USD {
	if m.Opening == nil {
		return 0
	}
	return m.Opening.BudgetUSD
}

// spentBy is what an agent has spent in this process, with the attempts of its open execution.
func (m *Model) spentBy(id string) state.Spent {
	a := m.agents[id]
	return a.ended.Spent.Plus(a.open().inAttempts(m.began()))
}

// spentSoFar is what the run has cost, with the attempts of executions that have not ended.
func (m *Model) spentSoFar() state.Spent {
	sum := m.spent.counted.Plus(m.spent.since)
	for _, x := range m.open() {
		sum = sum.Plus(x.inAttempts(m.began()))
	}
	return sum.AtLeast(m.spent.atLimit)
}

// inAttempts is what the attempts of an execution have cost that ended since a moment; nothing
// for none.
func (x *Exec) inAttempts(since time.Time) (sum state.Spent) {
	if x == nil {
		return sum
	}
	for i := range x.Attempts {
		if a := &x.Attempts[i]; !a.Ended.Before(since) {
			sum = sum.Plus(a.Spent())
		}
	}
	return sum
}
