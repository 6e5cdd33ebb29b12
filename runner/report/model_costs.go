package report

import (
	"cmp"
	"slices"

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

// book adds an execution to the models that it was done with. models has the shares of its cost that
// are known by model; the rest is booked on the model that was asked for, if none is known. Its time
// is that of the model that cost most.
func (s sums) book(spent Spent, models map[string]state.USD, asked string, ms int64) {
	rest := spent.Spent
	for model, usd := range models {
		rest.USD -= usd
		s.add(model, state.Spent{USD: usd, Estimated: spent.Estimated})
	}
	if len(models) > 0 {
		s.add("", rest)
	} else {
		s.add(asked, rest)
	}
	if sum := s[cut(cmp.Or(MainModel(models), asked), widestCell)]; sum != nil && sum.Name != "" {
		sum.DurationMS += ms
	}
}

// MainModel is the model that most was spent on; "" when none is known.
func MainModel(models map[string]state.USD) string {
	name, most := "", state.USD(-1)
	for model, usd := range models {
		if usd > most || usd == most && model < name {
			name, most = model, usd
		}
	}
	return name
}

// maxModels is how many models have costs of their own.
const maxModels = 10

// add adds a cost to that of a model. What goes beyond maxModels, and what is not known by model, is
// that of "".
func (s sums) add(model string, spent state.Spent) {
	if model = cut(model, widestCell); s[model] == nil && len(s) >= maxModels {
		model = ""
	}
	if spent.USD > 0 || spent.Unknown > 0 || spent.Unpriced > 0 {
		sum := s.of(model)
		sum.Executions++
		sum.Spent.Spent = sum.Spent.Plus(Spent{Spent: spent}).Spent
	}
}

// ByState returns the sums of states, the most expensive first, with the executions that have
// not ended.
func (m *Model) ByState() []Sum {
	return m.withOpen(m.byState, func(all sums, x *Exec) { all.of(x.State).spend(x.Spent) })
}

// ByAgent is ByState for agents.
func (m *Model) ByAgent() []Sum {
	return m.withOpen(m.byAgent, func(all sums, x *Exec) { all.of(x.Agent).spend(x.Spent) })
}

// ByModel is ByState for models; the name "" is for what is not known by model.
func (m *Model) ByModel() []Sum {
	return m.withOpen(m.byModel, func(all sums, x *Exec) { all.book(x.Spent, x.Models, "", 0) })
}

func (s *Sum) spend(more Spent) { s.Spent = s.Spent.Plus(more) }

func (m *Model) withOpen(s sums, add func(sums, *Exec)) []Sum {
	all := sums{}
	for name, sum := range s {
		one := *sum
		all[name] = &one
	}
	for _, x := range m.open() {
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

// total is what the run has cost so far, as far as events tell.
func (m *Model) total() state.Spent { return m.spent.AtLeast(m.atLimit) }

// ofBudget says what was spent, and the budget if there is one.
func (m *Model) ofBudget(spent state.Spent) string {
	if m.Opening == nil || m.Opening.BudgetUSD <= 0 {
		return spent.String()
	}
	return spent.String() + " of " + m.Opening.BudgetUSD.Dollars()
}

// took says how long the last part of a run took, and what it has cost.
func (m *Model) took(b *state.RunFinished) string {
	return "in " + millis(b.DurationMS) + ", " + m.ofBudget(b.Spent)
}
