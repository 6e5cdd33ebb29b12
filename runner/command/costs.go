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

// costs are what the program says that it has used.
type costs struct {
	asked string // the model that the order names, for lines that name none

	told     bool              // there was a line
	inTokens bool              // one of them told tokens without dollars
	inSum    bool              // one of them told dollars without tokens
	usd      state.USD         // the sum of all dollars
	models   []state.ModelCost // tokens, of lines with and without dollars apart
	model    string            // that was named last

	proxied accounts // with the key proxy, which counts, too
}

// add takes a line, and returns false for one that says nothing credible.
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
		used.Model = c.asked
	}
	if hasTokens && !c.use(used, usd, hasUSD) {
		return false
	}
	c.told, c.usd = true, c.usd.Plus(usd)
	c.inTokens, c.inSum = c.inTokens || !hasUSD, c.inSum || !hasTokens
	if r.Model != "" {
		c.model = r.Model
	}
	return true
}

// use adds the tokens of a line, and returns false when there are too many models.
func (c *costs) use(used state.Usage, usd state.USD, hasUSD bool) bool {
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

// total is the cost of the process. said tells whether it has said anything at all.
func (c *costs) total(said bool) state.Cost {
	cost := state.Cost{Metered: each(c.proxied, (*keyproxy.Account).Metered)} // nothing that the program prints changes it
	counted := c.proxied.used()
	switch {
	case !c.told:
		cost.Silent = !said && len(counted) == 0
	case c.inTokens:
		cost.Kind = state.InTokens
	default:
		cost.Kind = state.Exact
	}
	cost.USD, cost.Usage = c.usd, c.models
	cost.Unreported = keyproxy.Beyond(counted, c.models, c.told && c.inSum)
	return cost
}
