package command

import (
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/raymond-action/raymond-action/runner/internal/program"
	"github.com/raymond-action/raymond-action/runner/keyproxy"
	"github.com/raymond-action/raymond-action/state"
)

const (
	maxModels = 50  // maximum number of models in one invocation
	maxName   = 200 // maximum length of a model's name in bytes
)

// costs collects the costs that the program reports.
type costs struct {
	// orderModel is the model in the order. It is used for records that contain no model.
	orderModel string

	isReported     bool      // the program has printed a cost record
	hasBareTokens  bool      // a record contained tokens without a cost
	hasBareDollars bool      // a record contained a cost without tokens
	usd            state.USD // the sum of all reported costs
	// models contains the tokens and costs by model. Records with a cost above 0 and other records are
	// counted separately.
	models []state.ModelCost
	model  string // the newest model in a record

	proxied accounts // the accounts of the key proxy, which counts tokens independently
}

// add adds a cost record. It returns false if a value in the record is invalid or if there are no values.
func (c *costs) add(r record) bool {
	usd, hasUSD := program.ParseDollars(r.USD)
	used := state.Usage{Model: r.Model}
	var ok [3]bool
	used.Input, ok[0] = count(r.Input)
	used.CacheRead, ok[1] = count(r.Cached)
	used.Output, ok[2] = count(r.Output)
	hasTokens := len(r.Input)+len(r.Cached)+len(r.Output) > 0
	switch {
	case len(r.USD) > 0 && !hasUSD, !hasUSD && !hasTokens, slices.Contains(ok[:], false), len(r.Model) > maxName || strings.ContainsFunc(r.Model, func(c rune) bool { return !unicode.IsPrint(c) }):
		return false
	}
	if used.Model == "" {
		used.Model = c.orderModel
	}
	if hasTokens && !c.addTokens(used, usd, hasUSD) {
		return false
	}
	c.isReported, c.usd = true, c.usd.Plus(usd)
	c.hasBareTokens, c.hasBareDollars = c.hasBareTokens || !hasUSD, c.hasBareDollars || !hasTokens
	if r.Model != "" {
		c.model = r.Model
	}
	return true
}

// addTokens adds the tokens of a record. It returns false if there are already too many models.
func (c *costs) addTokens(used state.Usage, usd state.USD, hasUSD bool) bool {
	isSame := func(m state.ModelCost) bool { return m.Model == used.Model && (m.CostUSD > 0) == (hasUSD && usd > 0) }
	i := slices.IndexFunc(c.models, isSame)
	if i < 0 {
		if len(c.models) >= maxModels {
			return false
		}
		i, c.models = len(c.models), append(c.models, state.ModelCost{Usage: state.Usage{Model: used.Model}})
	}
	m := &c.models[i]
	m.Usage, m.CostUSD = m.Usage.Plus(used), m.CostUSD.Plus(usd)
	return true
}

// total returns the cost of the process. hasOutput is true if the process has printed output of a model.
func (c *costs) total(hasOutput bool) state.Cost {
	// Metered contains only the proxy's own counts, which the program's output can't change.
	cost := state.Cost{Metered: each(c.proxied, (*keyproxy.Account).Metered)}
	counted := c.proxied.used()
	switch {
	case !c.isReported:
		cost.Silent = !hasOutput && len(counted) == 0
	case c.hasBareTokens:
		cost.Kind = state.InTokens
	default:
		cost.Kind = state.Exact
	}
	cost.USD, cost.Usage = c.usd, c.models
	cost.Unreported = keyproxy.Beyond(counted, c.models, c.isReported && c.hasBareDollars)
	return cost
}

// accounts are the key proxy accounts of one invocation. There is an account for each API for which the
// proxy has a key, because the program may call any of them.
type accounts []*keyproxy.Account

// close closes all accounts.
func (all accounts) close() {
	for _, a := range all {
		a.Close()
	}
}

// each calls a function (of) for each account, and returns the elements of all its results in one list.
func each[T any](all accounts, of func(*keyproxy.Account) []T) (list []T) {
	for _, a := range all {
		list = append(list, of(a)...)
	}
	return list
}

// lastWait returns when a request of one of the accounts last waited. It returns the zero time if there
// are no accounts.
func (all accounts) lastWait() time.Time {
	return slices.MaxFunc(append(each(all, func(a *keyproxy.Account) []time.Time { return []time.Time{a.LastWait()} }), time.Time{}), time.Time.Compare)
}

// used returns the tokens that have been counted so far, by account and model.
func (all accounts) used() []keyproxy.Sum { return each(all, (*keyproxy.Account).Used) }

// watch calls the function seen with the counts of all accounts whenever a count changes. The returned
// function ends these calls.
func (all accounts) watch(seen func([]state.Usage)) (end func()) {
	var ends []func()
	for _, a := range all {
		ends = append(ends, a.Watch(func([]state.Usage) { seen(keyproxy.UsageOf(all.used())) }))
	}
	return func() {
		for _, end := range ends {
			end()
		}
	}
}
