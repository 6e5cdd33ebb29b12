package state

import (
	"iter"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
)

// ledger has the cost of every agent process of a run, in the parts in which it is kept.
type ledger struct {
	total        USD
	saved, added []LedgerEntry // those of the run, and those of the step under way
}

// spent adds up what the run has cost, and how well that is known.
func (l ledger) spent() Spent {
	all := Spent{}
	for e := range l.entries() {
		all = all.Plus(e.spent())
	}
	all.USD = l.total
	return all
}

// entries returns all that the ledger has.
func (l ledger) entries() iter.Seq[*LedgerEntry] {
	return func(yield func(*LedgerEntry) bool) {
		for _, entries := range [][]LedgerEntry{l.saved, l.added} {
			for i := range entries {
				if !yield(&entries[i]) {
					return
				}
			}
		}
	}
}

// spent is the entry as people are told it.
func (e *LedgerEntry) spent() Spent {
	s := Spent{USD: e.CostUSD, Estimated: e.Kind == Estimated, Unpriced: e.Unpriced}
	if e.Kind == Unknown {
		s.Unknown = 1
	}
	return s
}

// entry returns the entry for an agent's invocation that ended. It has what the process
// reported and, as an estimate, what was used beyond that. When the process reported
// nothing, the estimate is all; without any answer of the model the cost is zero; tokens
// without a price are counted where the agent CLI tells no dollars; otherwise the cost is
// unknown.
func (l ledger) entry(a *Agent, o Outcome) LedgerEntry {
	entry := LedgerEntry{N: a.Exec.Running.N, Agent: a.ID, State: a.State, Session: a.Exec.Running.SessionID, Unpriced: o.Cost.Unpriced}
	if o.Session != "" {
		entry.Session = o.Session
	}
	reported := o.Cost.Kind == Exact || o.Cost.Kind == Estimated
	extra := o.Used
	if !o.Cost.Listed {
		extra = l.estimate(o.Used)
	}
	switch {
	case reported && len(o.Used) == 0:
		entry.Kind, entry.CostUSD, entry.Models = o.Cost.Kind, o.Cost.USD, o.Cost.Usage
	case len(extra) > 0 || reported && o.Cost.USD > 0:
		entry.Kind, entry.CostUSD, entry.Models = Estimated, o.Cost.USD, slices.Clone(o.Cost.Usage)
		for _, m := range extra {
			entry.CostUSD = entry.CostUSD.Plus(m.CostUSD)
			entry.Models = withModel(entry.Models, m)
		}
	case !reported && o.Cost.Silent:
		entry.Kind = Exact
	default:
		entry.Kind = Unknown
	}
	if slices.ContainsFunc(o.Cost.Metered, func(u Usage) bool { return u.HasFees }) ||
		slices.ContainsFunc(o.Used, func(m ModelCost) bool { return m.HasFees }) { // what is known is in it
		entry.Kind = Unknown
	}
	return entry
}

// leastOfList is which part of a list price a rate must be at least. The weights of units
// are not those of every model, but not that far from them: an invocation that reported
// more tokens than it had used would make what comes after it cheap.
const leastOfList = 10

// estimate prices tokens model by model: at the rates of the exact entries of this run,
// otherwise, or where these are not credible, at the list prices that come with the
// tokens. Tokens without either are left out.
func (l ledger) estimate(used []ModelCost) []ModelCost {
	var priced []ModelCost
	for _, u := range used {
		if cost, units := l.rate(u.Model); units > 0 {
			if rated := usd(float64(cost) * float64(u.units()) / float64(units)); rated >= (u.CostUSD-u.Surcharge)/leastOfList {
				u.CostUSD = rated.Plus(u.Surcharge)
			}
		}
		if u.CostUSD > 0 {
			priced = append(priced, u)
		}
	}
	return priced
}

// rate sums what the exact entries of a model cost and used.
func (l ledger) rate(model string) (cost USD, units int64) {
	for e := range l.entries() {
		for _, m := range e.Models {
			if e.Kind == Exact && SameModel(m.Model, model) {
				cost = cost.Plus(m.CostUSD)
				units += m.units()
			}
		}
	}
	return cost, units
}

// charge adds what an agent's invocation has cost to the ledger, and reports whether all
// of that is known. Once in a run it adds the event about 80 % of the budget.
func (s *Step) charge(a *Agent, o Outcome) bool {
	entry, delta := s.ledger().entry(a, o), &s.delta
	delta.Ledger = append(delta.Ledger, entry)
	delta.Progress.TotalUSD = delta.Progress.TotalUSD.Plus(entry.CostUSD)
	e, spent := a.Exec, entry.spent()
	e.Spent, e.AttemptSpent, e.Models = e.Spent.Plus(spent), e.AttemptSpent.Plus(spent), withShares(e.Models, entry.Models)
	e.count(o)
	limits := s.limits()
	budget := limits.options.BudgetUSD
	if isNear := float64(delta.Progress.TotalUSD)*10 > float64(budget)*8; budget != 0 && isNear && !delta.Progress.Warned {
		delta.Progress.Warned = true
		warning := about(nil, limits.event(limits.options.own()))
		warning.Exec = e.Iteration
		s.record(warning)
	}
	return entry.Kind != Unknown && entry.Unpriced == 0
}

// count adds the tokens that an invocation is known to have used.
func (e *Exec) count(o Outcome) {
	for _, m := range slices.Concat(o.Cost.Usage, o.Used) {
		if m.Total() == 0 {
			continue
		}
		so := Tokens{}
		if e.Tokens != nil {
			so = *e.Tokens
		}
		e.Tokens = new(so.plus(m.Usage)) // that of the run stays as it is
	}
}

// plus returns the tokens with those of one model.
func (t Tokens) plus(u Usage) Tokens {
	return Tokens{
		Input:  tokenSum(t.Input, tokenSum(u.Input, u.CacheWrite)),
		Cached: tokenSum(t.Cached, u.CacheRead), Output: tokenSum(t.Output, u.Output),
	}
}

// withModel adds what a model used and cost to a list. It changes the list.
func withModel(list []ModelCost, m ModelCost) []ModelCost {
	for i := range list {
		if SameModel(list[i].Model, m.Model) {
			list[i].Usage = list[i].Plus(m.Usage)
			list[i].CostUSD = list[i].CostUSD.Plus(m.CostUSD)
			return list
		}
	}
	return append(list, m)
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
		sums[m.Model] = sums[m.Model].Plus(m.CostUSD)
	}
	return sums
}

// Float returns the amount in dollars, for display.
func (u USD) Float() float64 { return float64(u) / float64(Dollar) }

// Spent returns what the run has cost, and how well that is known.
func (r *Run) Spent() Spent { return r.ledger().spent() }

func (r *Run) ledger() ledger {
	return ledger{total: r.Progress.TotalUSD, saved: r.Ledger}
}

// Tokens returns the tokens that the run is known to have used, those of all models together.
func (r *Run) Tokens() Tokens {
	var all Tokens
	for _, e := range r.Ledger {
		for _, m := range e.Models {
			all = all.plus(m.Usage)
		}
	}
	return all
}

// Unfinished lists what the state executions under way have cost so far.
func (r *Run) Unfinished() []Unfinished { return unfinished(slices.Values(r.Agents)) }

// unfinished lists what the executions of agents under way have cost. That of one
// that failed was reported when it failed.
func unfinished(agents iter.Seq[*Agent]) []Unfinished {
	var list []Unfinished
	for a := range agents {
		e := a.Exec
		if e == nil || a.Status == Stuck || e.Spent == (Spent{}) {
			continue
		}
		list = append(list, Unfinished{Agent: a.ID, State: a.State, Spent: e.Spent, Models: e.Models})
	}
	return list
}

// usd returns an amount of n billionths of a dollar, at least 0 and at most MostUSD.
func usd(n float64) USD {
	switch {
	case math.IsNaN(n) || n <= 0:
		return 0
	case n >= float64(MaxUSD):
		return MaxUSD
	}
	return USD(math.Round(n))
}

// SameModel reports whether two names are of one model: with and without the
// variant as in "opus[1m]", the date as in "-20251001" and "-2025-10-01", and what a
// cloud adds before and after, as in "us.anthropic.claude-opus-5-v1:0", "@20260101" and
// "models/gemini-3-pro".
func SameModel(a, b string) bool { return a == b || plainModel(a) == plainModel(b) }

var isNumber = matches(`^[0-9]+$`)

func plainModel(name string) string {
	name = name[strings.LastIndexByte(name, '/')+1:]
	name, _, _ = strings.Cut(name, "[")
	name, _, _ = strings.Cut(name, "@")
	if at := strings.Index(name, "claude-"); at > 0 {
		name = name[at:]
	}
	name, _, _ = strings.Cut(name, ":")
	if at := strings.LastIndex(name, "-v"); at > 0 && isNumber(name[at+2:]) {
		name = name[:at]
	}
	for _, date := range []string{"-20060102", "-2006-01-02"} {
		if at := len(name) - len(date); at > 0 {
			if _, err := time.Parse(date, name[at:]); err == nil {
				return name[:at]
			}
		}
	}
	return name
}

// mostTokens is the largest count of tokens that is taken seriously.
const mostTokens = 1e12

// units weighs tokens by what they cost relative to each other in Anthropic's
// price list: output 5, cache write 1.25, for an hour 2, cache read 0.1 times an input token.
// The unit is a twentieth of an input token.
func (u Usage) units() int64 {
	count := func(n int64) int64 { return min(max(n, 0), mostTokens) }
	return 20*count(u.Input) + 100*count(u.Output) + 25*count(u.CacheWrite) + 15*count(u.CacheHour) + 2*count(u.CacheRead)
}

// tokenSum adds two numbers of tokens, each of them within what is taken seriously.
func tokenSum(a, b int64) int64 { return min(max(a, 0), mostTokens) + min(max(b, 0), mostTokens) }
