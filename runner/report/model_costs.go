package report

import (
	"cmp"
	"slices"

	"github.com/raymond-action/raymond-action/state"
)

// Spent is a cost and the tokens that were used, which may be unknown (nil).
type Spent struct {
	state.Spent
	Tokens *state.Tokens `json:"tokens,omitempty"`
}

// Plus returns the sum of two costs and of their tokens.
func (s Spent) Plus(t Spent) Spent {
	return Spent{s.Spent.Plus(t.Spent), PlusTokens(s.Tokens, t.Tokens)}
}

// PlusTokens returns the sum of a and b. An argument may be nil, which means unknown; if both are
// nil, the result is nil.
func PlusTokens(a, b *state.Tokens) *state.Tokens {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	return &state.Tokens{Input: a.Input + b.Input, Cached: a.Cached + b.Cached, Output: a.Output + b.Output}
}

// Sum is the total cost of all executions in a state, by an agent, or with a model.
type Sum struct {
	Name       string `json:"name"`
	Executions int    `json:"executions"`
	Failed     int    `json:"failed"`
	Retries    int    `json:"retries"` // retries, and attempts after the first
	DurationMS int64  `json:"duration_ms"`
	Spent      Spent  `json:"spent"`
}

// sums contains totals by name. The names in one map are all states, all agents, or all models.
type sums map[string]*Sum

// of returns the total for a name. It adds a total if the name is new.
func (s sums) of(name string) *Sum {
	if s[name] == nil {
		s[name] = &Sum{Name: name}
	}
	return s[name]
}

// addModels adds the cost and the duration of one execution to the totals of its models. models
// contains the known cost for each model. The remaining cost is added to the name "" or, if models
// is empty, to the requested model. The duration is added to the most expensive model only.
func (s sums) addModels(spent Spent, models map[string]state.USD, requested string, ms int64) {
	rest := spent.Spent
	for model, usd := range models {
		rest.USD -= usd
		s.addModel(model, state.Spent{USD: usd, Estimated: spent.Estimated})
	}
	if len(models) > 0 {
		s.addModel("", rest)
	} else {
		s.addModel(requested, rest)
	}
	if sum := s[cut(cmp.Or(MainModel(models), requested), widestCell)]; sum != nil && sum.Name != "" {
		sum.DurationMS += ms
	}
}

// MainModel returns the model with the highest cost, or "" if models is empty.
func MainModel(models map[string]state.USD) string {
	name, most := "", state.USD(-1)
	for model, usd := range models {
		if usd > most || usd == most && model < name {
			name, most = model, usd
		}
	}
	return name
}

// maxModels is the maximum number of models that get a separate total.
const maxModels = 10

// addModel adds a cost to the total of a model, unless the cost is zero. The cost is added to the
// name "" if the model is unknown, or if maxModels other models already have totals.
func (s sums) addModel(model string, spent state.Spent) {
	if model = cut(model, widestCell); s[model] == nil && len(s) >= maxModels {
		model = ""
	}
	if spent.USD > 0 || spent.Unknown > 0 || spent.Unpriced > 0 {
		sum := s.of(model)
		sum.Executions++
		sum.Spent.Spent = sum.Spent.Plus(Spent{Spent: spent}).Spent
	}
}

// ByState returns the total for each state, most expensive first. The totals include open
// executions.
func (m *Model) ByState() []Sum {
	return m.withOpen(m.byState, func(all sums, x *Exec) { all.of(x.State).add(x.Spent) })
}

// ByAgent is like ByState, but returns the total for each agent.
func (m *Model) ByAgent() []Sum {
	return m.withOpen(m.byAgent, func(all sums, x *Exec) { all.of(x.Agent).add(x.Spent) })
}

// ByModel is like ByState, but returns the total for each model. The total with the name "" is the
// cost of all other models and of unknown models.
func (m *Model) ByModel() []Sum {
	return m.withOpen(m.byModel, func(all sums, x *Exec) { all.addModels(x.Spent, x.Models, "", 0) })
}

// add adds a cost to the total.
func (s *Sum) add(more Spent) { s.Spent = s.Spent.Plus(more) }

// withOpen returns copies of the totals in s, most expensive first. The function add is called for
// each open execution. It must add the cost of the execution to the copies.
func (m *Model) withOpen(s sums, add func(sums, *Exec)) []Sum {
	all := sums{}
	for name, sum := range s {
		one := *sum
		all[name] = &one
	}
	for _, x := range m.openExecs() {
		add(all, x)
	}
	out := make([]Sum, 0, len(all))
	for _, sum := range all {
		out = append(out, *sum)
	}
	slices.SortFunc(out, func(a, b Sum) int {
		return cmp.Or(cmp.Compare(b.Spent.USD, a.Spent.USD), cmp.Compare(b.DurationMS, a.DurationMS), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// total returns the cost of the run so far that events have reported.
func (m *Model) total() state.Spent { return m.spent.AtLeast(m.spentAtLimit) }

// withBudget formats a cost. If the run has a budget, the text also contains the budget.
func (m *Model) withBudget(spent state.Spent) string {
	if m.Opening == nil || m.Opening.BudgetUSD <= 0 {
		return spent.String()
	}
	return spent.String() + " of " + m.Opening.BudgetUSD.Dollars()
}

// costSummary formats the duration of the last segment and the cost of the run.
func (m *Model) costSummary(b *state.RunFinished) string {
	return "in " + formatMillis(b.DurationMS) + ", " + m.withBudget(b.Spent)
}
