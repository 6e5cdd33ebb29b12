package report

import (
	"cmp"
	"slices"

	"github.com/raymond-action/raymond-action/state"
)

// Spent is a cost with its tokens.
type Spent struct {
	state.Spent
	Tokens *state.Tokens `json:"tokens,omitempty"`
}

// Plus returns the sum of both costs.
func (s Spent) Plus(t Spent) Spent {
	return Spent{s.Spent.Plus(t.Spent), PlusTokens(s.Tokens, t.Tokens)}
}

// PlusTokens returns the sum of both, nil if neither is known.
func PlusTokens(a, b *state.Tokens) *state.Tokens {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	return &state.Tokens{Input: a.Input + b.Input, Cached: a.Cached + b.Cached, Output: a.Output + b.Output}
}

// Sum is the total cost of the executions of a state, an agent or a model.
type Sum struct {
	Name       string `json:"name"`
	Executions int    `json:"executions"`
	Failed     int    `json:"failed"`
	Retries    int    `json:"retries"` // including attempts after the first
	DurationMS int64  `json:"duration_ms"`
	Spent      Spent  `json:"spent"`
}

// sums has totals by the name of a state, an agent or a model.
type sums map[string]*Sum

func (s sums) of(name string) *Sum {
	if s[name] == nil {
		s[name] = &Sum{Name: name}
	}
	return s[name]
}

// addModels adds an execution to the totals of its models. models has the known costs by model; the
// rest is added to the name "" or, if no model is known, to the requested model. The duration is
// added to the most expensive model.
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

// MainModel returns the model with the highest cost, "" if models is empty.
func MainModel(models map[string]state.USD) string {
	name, most := "", state.USD(-1)
	for model, usd := range models {
		if usd > most || usd == most && model < name {
			name, most = model, usd
		}
	}
	return name
}

// maxModels is the maximum number of models with their own total.
const maxModels = 10

// addModel adds a cost to the total of a model. Models beyond maxModels, and costs without a model,
// are added to the name "".
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

// ByState returns the totals of the states, including open executions, most expensive first.
func (m *Model) ByState() []Sum {
	return m.withOpen(m.byState, func(all sums, x *Exec) { all.of(x.State).add(x.Spent) })
}

// ByAgent is like ByState, for agents.
func (m *Model) ByAgent() []Sum {
	return m.withOpen(m.byAgent, func(all sums, x *Exec) { all.of(x.Agent).add(x.Spent) })
}

// ByModel is like ByState, for models; the name "" has the costs of other or unknown models.
func (m *Model) ByModel() []Sum {
	return m.withOpen(m.byModel, func(all sums, x *Exec) { all.addModels(x.Spent, x.Models, "", 0) })
}

func (s *Sum) add(more Spent) { s.Spent = s.Spent.Plus(more) }

// withOpen returns sorted totals, to which add has added the open executions.
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

// total returns the cost of the run so far, as far as events show.
func (m *Model) total() state.Spent { return m.spent.AtLeast(m.spentAtLimit) }

// withBudget formats a cost, with the budget if there is one.
func (m *Model) withBudget(spent state.Spent) string {
	if m.Opening == nil || m.Opening.BudgetUSD <= 0 {
		return spent.String()
	}
	return spent.String() + " of " + m.Opening.BudgetUSD.Dollars()
}

// costSummary formats the duration and the cost of the last segment.
func (m *Model) costSummary(b *state.RunFinished) string {
	return "in " + formatMillis(b.DurationMS) + ", " + m.withBudget(b.Spent)
}
