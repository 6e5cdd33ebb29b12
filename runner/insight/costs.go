package insight

import (
	"slices"

	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
)

// byModel adds up the ledger by model. The time of an execution is that of the model which cost
// most in it.
func byModel(execs []report.Exec, ledger []state.Sum) []report.Sum {
	all := map[string]*report.Sum{}
	of := func(name string) *report.Sum {
		if all[name] == nil {
			all[name] = &report.Sum{Name: name}
		}
		return all[name]
	}
	for i := range execs {
		x, most := &execs[i], execs[i].Model
		for model, usd := range x.Models {
			of(model).Executions++
			if usd > x.Models[most] || usd == x.Models[most] && model < most {
				most = model
			}
		}
		if all[most] != nil {
			all[most].DurationMS += x.DurationMS
		}
	}
	for _, entry := range ledger {
		known := state.USD(0)
		for _, c := range entry.Models {
			known += c.CostUSD
			s := of(c.Model)
			s.Spent = s.Spent.Plus(report.Spent{
				Spent:  state.Spent{USD: c.CostUSD, Estimated: entry.Kind == state.Estimated},
				Tokens: &state.Tokens{Input: c.Input + c.CacheWrite, Cached: c.CacheRead, Output: c.Output},
			})
		}
		rest := state.Spent{USD: max(0, entry.CostUSD-known), Unpriced: entry.Unpriced, Estimated: entry.Kind == state.Estimated}
		if entry.Kind == state.Unknown {
			rest.Unknown = entry.Entries
		}
		if rest.USD > 0 || rest.Unknown > 0 {
			of("").Spent = of("").Spent.Plus(report.Spent{Spent: rest})
		}
	}
	out := make([]report.Sum, 0, len(all))
	for _, s := range all {
		out = append(out, *s)
	}
	slices.SortFunc(out, report.Dearest)
	return out
}
