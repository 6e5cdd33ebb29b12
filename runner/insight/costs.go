package insight

import (
	"cmp"
	"maps"
	"slices"

	"github.com/raymond-action/raymond-action/state"
)

// sums adds up executions by a name.
type sums map[string]*Sum

func (s sums) of(name string) *Sum {
	if s[name] == nil {
		s[name] = &Sum{Name: name}
	}
	return s[name]
}

// add adds an execution.
func (s *Sum) add(x *Exec) {
	s.Executions++
	if x.Status == Failed {
		s.Failed++
	}
	s.Retries += len(x.Retries) + max(0, len(x.Attempts)-1)
	if !x.Ended.IsZero() {
		s.DurationMS += max(0, x.Ended.Sub(x.Started)).Milliseconds()
	}
	s.Spent = s.Spent.plus(x.Spent)
}

// sorted returns the sums, the most expensive first.
func (s sums) sorted() []Sum {
	out := make([]Sum, 0, len(s))
	for _, sum := range s {
		out = append(out, *sum)
	}
	slices.SortFunc(out, func(a, b Sum) int {
		return cmp.Or(cmp.Compare(b.Spent.USD, a.Spent.USD), cmp.Compare(b.DurationMS, a.DurationMS), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// costsOf adds up executions, and the ledger by model.
func costsOf(execs []Exec, ledger []state.Sum) Costs {
	byAgent, byState, byModel := sums{}, sums{}, sums{}
	for i := range execs {
		x := &execs[i]
		byAgent.of(x.Agent).add(x)
		byState.of(x.State).add(x)
		for model := range maps.Keys(x.Models) {
			byModel.of(model).Executions++
		}
	}
	for _, entry := range ledger {
		known := state.USD(0)
		for _, m := range entry.Models {
			known += m.CostUSD
			byModel.of(m.Model).book(m, entry.Kind)
		}
		rest := state.Spent{USD: max(0, entry.CostUSD-known), Unpriced: entry.Unpriced, Estimated: entry.Kind == state.Estimated}
		if entry.Kind == state.Unknown {
			rest.Unknown = entry.Entries
		}
		if rest.USD > 0 || rest.Unknown > 0 {
			byModel.of("").Spent = byModel.of("").Spent.plus(Spent{Spent: rest})
		}
	}
	return Costs{ByAgent: byAgent.sorted(), ByState: byState.sorted(), ByModel: byModel.sorted()}
}

// book adds the share of a model in entries of the ledger.
func (s *Sum) book(m state.ModelCost, kind state.CostKind) {
	s.Spent = s.Spent.plus(Spent{
		Spent:  state.Spent{USD: m.CostUSD, Estimated: kind == state.Estimated},
		Tokens: &state.Tokens{Input: m.Input + m.CacheWrite, Cached: m.CacheRead, Output: m.Output},
	})
}
