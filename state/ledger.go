package state

import (
	"iter"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
)

// ledger contains the cost of every agent CLI process of a run.
type ledger struct {
	total   USD
	entries iter.Seq[*LedgerEntry] // oldest first
}

// spent returns the total cost of the run, including whether parts of it are estimated or unknown.
func (l ledger) spent() Spent {
	all := Spent{}
	for e := range l.entries {
		all = all.Plus(e.spent())
	}
	all.USD = l.total
	return all
}

// spent returns the cost of the entry as a Spent.
func (e *LedgerEntry) spent() Spent {
	s := Spent{USD: e.CostUSD, Estimated: e.Kind == Estimated, Unpriced: e.Unpriced}
	if e.Kind == Unknown {
		s.Unknown = 1
	}
	return s
}

// entry returns the ledger entry for an agent's invocation that has ended. Its cost is the amount that
// the process reported, plus an estimate for the tokens in o.Used, which the report does not include.
// If the process reported nothing, its cost is the estimate alone, or zero if the model sent nothing. In
// all other cases, and if there are fees of an unknown amount, the kind of the cost is Unknown. The entry
// counts tokens without a price in Unpriced.
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
			at := slices.IndexFunc(entry.Models, func(listed ModelCost) bool { return SameModel(listed.Model, m.Model) })
			if at < 0 {
				entry.Models = append(entry.Models, m)
				continue
			}
			sum := &entry.Models[at]
			sum.Usage, sum.CostUSD = sum.Plus(m.Usage), sum.CostUSD.Plus(m.CostUSD)
		}
	case !reported && o.Cost.Silent:
		entry.Kind = Exact
	default:
		entry.Kind = Unknown
	}
	if slices.ContainsFunc(o.Cost.Metered, func(u Usage) bool { return u.HasFees }) ||
		// CostUSD and Models contain only the known part of the cost.
		slices.ContainsFunc(o.Used, func(m ModelCost) bool { return m.HasFees }) {
		entry.Kind = Unknown
	}
	return entry
}

// minListShare limits how cheap a computed rate may be: it must be at least the list price divided by
// minListShare. The weights in units are nearly exact for every model. A larger difference means that
// an invocation reported more tokens than it used, which would make later invocations look cheap.
const minListShare = 10

// estimate sets the cost of each model's tokens. It uses the rate from the exact entries of this run, or
// the list price in used if that rate is not plausible. It leaves out a model that has neither a plausible
// rate nor a list price.
func (l ledger) estimate(used []ModelCost) []ModelCost {
	var priced []ModelCost
	for _, u := range used {
		cost, units := USD(0), int64(0) // of this model in the exact entries
		for e := range l.entries {
			for _, m := range e.Models {
				if e.Kind == Exact && SameModel(m.Model, u.Model) {
					cost, units = cost.Plus(m.CostUSD), units+m.units()
				}
			}
		}
		rated := usd(float64(cost) * float64(u.units()) / float64(units))
		if units > 0 && rated >= (u.CostUSD-u.Surcharge)/minListShare {
			u.CostUSD = rated.Plus(u.Surcharge)
		}
		if u.CostUSD > 0 {
			priced = append(priced, u)
		}
	}
	return priced
}

// charge adds the cost of an agent's invocation to the ledger. It reports whether the whole cost is
// known. When the run has spent more than 80 % of its budget, charge adds a Limit event, but only once.
func (d *draft) charge(a *Agent, o Outcome) bool {
	entry, delta := d.ledger().entry(a, o), &d.delta
	delta.Ledger = append(delta.Ledger, entry)
	delta.Progress.TotalUSD = delta.Progress.TotalUSD.Plus(entry.CostUSD)
	e, spent := a.Exec, entry.spent()
	e.Spent, e.AttemptSpent = e.Spent.Plus(spent), e.AttemptSpent.Plus(spent)
	e.Models = maps.Clone(e.Models) // a copy: the run's own map must not change
	for _, m := range entry.Models {
		if m.CostUSD == 0 {
			continue
		}
		if e.Models == nil {
			e.Models = map[string]USD{}
		}
		e.Models[m.Model] = e.Models[m.Model].Plus(m.CostUSD)
	}
	for _, m := range slices.Concat(o.Cost.Usage, o.Used) {
		if m.Total() == 0 {
			continue
		}
		sum := Tokens{}
		if e.Tokens != nil {
			sum = *e.Tokens
		}
		e.Tokens = new(sum.plus(m.Usage)) // a copy: the run's own Tokens must not change
	}
	limits := d.limits()
	budget := limits.options.BudgetUSD
	if isNear := float64(delta.Progress.TotalUSD)*10 > float64(budget)*8; budget != 0 && isNear && !delta.Progress.Warned {
		delta.Progress.Warned = true
		warning := about(nil, limits.event(limits.options.ownBudget()))
		warning.Exec = e.Iteration
		d.record(warning)
	}
	return entry.Kind != Unknown && entry.Unpriced == 0
}

// plus returns the sum of t and the tokens of one model.
func (t Tokens) plus(u Usage) Tokens {
	return Tokens{
		Input:  tokenSum(t.Input, tokenSum(u.Input, u.CacheWrite)),
		Cached: tokenSum(t.Cached, u.CacheRead), Output: tokenSum(t.Output, u.Output),
	}
}

// Float returns the amount in dollars, for display.
func (u USD) Float() float64 { return float64(u) / float64(Dollar) }

// Spent returns the cost of the run, including whether parts of it are estimated or unknown.
func (r *Run) Spent() Spent { return ledger{r.Progress.TotalUSD, each(r.Ledger)}.spent() }

// Tokens returns the tokens that the run is known to have used, summed over all models.
func (r *Run) Tokens() Tokens {
	var all Tokens
	for _, e := range r.Ledger {
		for _, m := range e.Models {
			all = all.plus(m.Usage)
		}
	}
	return all
}

// Unfinished returns the cost so far of each state execution that has not finished.
func (r *Run) Unfinished() []Unfinished { return unfinished(slices.Values(r.Agents)) }

// unfinished returns the cost so far of the agents' executions that have not finished. It leaves out
// failed executions, because their cost was reported when they failed.
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

// usd converts n billionths of a dollar to an amount from 0 to MaxUSD.
func usd(n float64) USD {
	switch {
	case math.IsNaN(n) || n <= 0:
		return 0
	case n >= float64(MaxUSD):
		return MaxUSD
	}
	return USD(math.Round(n))
}

// SameModel reports whether two names refer to the same model. It ignores a variant like "[1m]", a
// date like "-20251001" or "-2025-10-01", and the prefixes and suffixes of cloud services, as in
// "us.anthropic.claude-opus-5-v1:0", "…@20260101" and "models/gemini-3-pro".
func SameModel(a, b string) bool { return a == b || baseModel(a) == baseModel(b) }

var isNumber = matches(`^[0-9]+$`)

// baseModel returns the part of a model's name that SameModel compares.
func baseModel(name string) string {
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

// maxTokens is the largest number of tokens that is accepted. Larger numbers are reduced to it.
const maxTokens = 1e12

// units returns the tokens weighted by their relative prices in Anthropic's price list: output 5,
// cache write 1.25, cache write for an hour 2, and cache read 0.1 times an input token. A unit is a
// twentieth of an input token.
func (u Usage) units() int64 {
	count := func(n int64) int64 { return min(max(n, 0), maxTokens) }
	return 20*count(u.Input) + 100*count(u.Output) + 25*count(u.CacheWrite) + 15*count(u.CacheHour) + 2*count(u.CacheRead)
}

// tokenSum adds two numbers of tokens. It first limits each of them to the range 0 to maxTokens.
func tokenSum(a, b int64) int64 { return min(max(a, 0), maxTokens) + min(max(b, 0), maxTokens) }
