package state

import (
	"maps"
	"slices"
)

// book writes the cost of an agent process into the ledger: as it was reported,
// else estimated from its transcript and from what it reported in part, else as
// unknown.
func (s *Step) book(a *Agent, o Outcome) CostKind {
	e := a.Exec
	entry := Entry{N: e.Running.N, Agent: a.ID, State: a.State, Session: e.Running.SessionID, Kind: Unknown}
	if o.Session != "" {
		entry.Session = o.Session
	}
	usd, ok := s.estimate(o.Used)
	switch {
	case o.Cost.Kind == Exact:
		entry.Kind, entry.CostUSD, entry.Models = Exact, o.Cost.USD, o.Cost.Usage
	case ok || o.Cost.Kind == Estimated:
		entry.Kind, entry.CostUSD = Estimated, max(usd, o.Cost.USD)
	}
	p := &s.d.Progress
	s.d.Ledger = append(s.d.Ledger, entry)
	p.TotalUSD += entry.CostUSD
	e.CostUSD += entry.CostUSD
	e.AttemptUSD += entry.CostUSD
	e.Models = withShares(e.Models, o.Cost.Usage)
	s.warnBudget()
	return entry.Kind
}

// withShares returns a copy of sums with the shares of one invocation added.
// Models that cost nothing are left out.
func withShares(sums map[string]USD, shares []ModelCost) map[string]USD {
	sums = maps.Clone(sums)
	for _, m := range shares {
		if m.CostUSD == 0 {
			continue
		}
		if sums == nil {
			sums = map[string]USD{}
		}
		sums[m.Model] += m.CostUSD
	}
	return sums
}

// streak counts the unknown costs in a row. What we ended ourselves is no part
// of it: an agent CLI that is stopped has no time to tell its cost.
func (s *Step) streak(kind CostKind, f *Failure) {
	switch {
	case kind != Unknown:
		s.d.Progress.Unknown = 0
	case f == nil || f.Class != Stopped:
		s.d.Progress.Unknown++
	}
}

// warnBudget tells once when 80 % of the budget is spent.
func (s *Step) warnBudget() {
	p, budget := &s.d.Progress, s.Options().BudgetUSD
	if budget == 0 || p.Warned || p.TotalUSD*10 <= budget*8 {
		return
	}
	p.Warned = true
	s.emit(nil, &Limit{Which: "budget", Value: p.TotalUSD.Float(), Max: budget.Float()})
}

// Float returns the amount in dollars, for display.
func (u USD) Float() float64 { return float64(u) / float64(Dollar) }

// estimate prices tokens at the rates of the exact entries of this run. It
// can't when there are no tokens, or a model has no exact entry.
func (s *Step) estimate(used []Usage) (USD, bool) {
	total := USD(0)
	for _, u := range used {
		cost, units := s.rate(u.Model)
		if units == 0 {
			return 0, false
		}
		total += USD(float64(cost) * float64(u.units()) / float64(units))
	}
	return total, used != nil
}

// rate sums what the exact entries of a model cost and used.
func (s *Step) rate(model string) (cost USD, units int64) {
	for _, entries := range [][]Entry{s.run.Ledger, s.d.Ledger} {
		for _, e := range entries {
			for _, m := range e.Models {
				if m.Model == model {
					cost += m.CostUSD
					units += m.units()
				}
			}
		}
	}
	return cost, units
}

// units weighs tokens by what they cost relative to each other in Anthropic's
// price list: output 5, cache write 1.25, cache read 0.1 times an input token.
// The unit is a twentieth of an input token.
func (u Usage) units() int64 {
	return 20*u.Input + 100*u.Output + 25*u.CacheWrite + 2*u.CacheRead
}

// Without returns used less what stands in before, model by model.
func Without(used, before []Usage) []Usage {
	out := slices.Clone(used)
	for i := range out {
		for _, b := range before {
			if b.Model == out[i].Model {
				out[i].Input = max(0, out[i].Input-b.Input)
				out[i].Output = max(0, out[i].Output-b.Output)
				out[i].CacheWrite = max(0, out[i].CacheWrite-b.CacheWrite)
				out[i].CacheRead = max(0, out[i].CacheRead-b.CacheRead)
			}
		}
	}
	return out
}
