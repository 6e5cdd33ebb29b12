package command

import (
	"slices"
	"strings"
	"unicode"

	"github.com/raymond-action/raymond-action/runner/internal/program"
	"github.com/raymond-action/raymond-action/runner/keyproxy"
	"github.com/raymond-action/raymond-action/state"
)

const (
	maxModels = 50  // in one invocation
	maxName   = 200 // bytes of a model's name
)

// costs are the costs that the program reports.
type costs struct {
	orderModel string // the model of the order, for records that name no model

	isReported     bool              // there was a cost record
	hasBareTokens  bool              // a record had tokens without dollars
	hasBareDollars bool              // a record had dollars without tokens
	usd            state.USD         // the sum of all dollars
	models         []state.ModelCost // by model; records with and without dollars are counted separately
	model          string            // the model that was named last

	proxied accounts // accounts of the key proxy, which counts independently
}

// add adds a cost record. It returns false if the record has no credible values.
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

// addTokens adds the tokens of a record. It returns false if there are too many models.
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

// total returns the cost of the process. hasOutput reports whether the process printed any output of a
// model.
func (c *costs) total(hasOutput bool) state.Cost {
	cost := state.Cost{Metered: each(c.proxied, (*keyproxy.Account).Metered)} // only the proxy's own count, which the program's output can't change
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
