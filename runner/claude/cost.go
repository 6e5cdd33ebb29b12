package claude

import (
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/raymond-action/raymond-action/runner/internal/program"
	"github.com/raymond-action/raymond-action/runner/keyproxy"
	"github.com/raymond-action/raymond-action/state"
)

// ofResult is how a result record counts for one model.
var ofResult = keyproxy.Layout{
	Input: []string{"inputTokens"}, Output: []string{"outputTokens"}, CacheRead: "cacheReadInputTokens", CacheWrite: "cacheCreationInputTokens",
}

// counting is the first version that continues its count when a conversation is
// resumed or branched.
var counting = program.Version{2, 1, 277}

// costs is what is known of the cost of a process: what its result records say,
// and what was counted as it went by.
type costs struct {
	meter   meter
	proxy   *keyproxy.Account // that counts, too; nil without one
	prior   priorCount        // how far the CLI's count had come when it began
	version program.Version   // of the CLI, as it says itself

	last     *result // the newest result record
	share    shares  // the sum of what each says of what came since the one before
	unshared bool    // one of them doesn't say it
}

// add takes in a result record.
func (c *costs) add(r *result) {
	if c.last == nil {
		c.share = shares{}
	}
	c.last = r
	c.unshared = !c.share.add(r.Share) || c.unshared
}

// total is the cost of the process.
func (c *costs) total() state.Cost {
	cost := c.reported()
	cost.Metered = c.proxy.Metered()
	counted := c.counted()
	cost.Silent = !c.meter.spoke && len(counted) == 0
	isSum := cost.Kind != "" && cost.USD > 0 && len(c.last.ModelUsage) == 0
	cost.Unreported = keyproxy.Beyond(counted, named(cost.Usage, counted), isSum)
	return cost
}

// named are the shares of models, with those whose names tell nothing, like that of an inference profile: these may be those that
// the API calls otherwise, and are spread over the models that were counted and that no share names.
func named(shares []state.ModelCost, counted []keyproxy.Sum) []state.ModelCost {
	var rest state.Usage
	for _, s := range shares {
		isCounted := slices.ContainsFunc(counted, func(m keyproxy.Sum) bool { return state.SameModel(s.Model, m.Model) })
		if !isCounted && !strings.Contains(s.Model, "claude-") {
			rest = rest.Plus(s.Usage)
		}
	}
	all := slices.Clone(shares)
	for _, m := range counted {
		if !slices.ContainsFunc(shares, func(s state.ModelCost) bool { return state.SameModel(s.Model, m.Model) }) {
			rest.Model = m.Model
			all = append(all, state.ModelCost{Usage: rest})
			rest = rest.Minus(m.Usage)
		}
	}
	return all
}

// counted is what was counted of the tokens of the process: by the proxy between
// the CLI and the API where there is one that could, else from the stream.
func (c *costs) counted() []keyproxy.Sum {
	if list := c.proxy.Used(); len(list) > 0 {
		return list
	}
	return c.meter.counted()
}

// reported is the share of the process in what its result records say; it counts
// all turns of the process. Without a Kind nothing credible was said.
func (c *costs) reported() state.Cost {
	if c.last == nil {
		return state.Cost{}
	}
	cost := state.Cost{Kind: state.Exact}
	total, isTotal := program.ParseDollars(c.last.TotalCost)
	models := byModel(c.last.ModelUsage)
	goesOn := isTotal && !c.version.Before(counting)
	if goesOn {
		cost.RunningTotal = state.RunningTotal{USD: total, Models: models}
	}
	switch {
	case !c.unshared:
		cost.Usage = c.share.list()
		for _, m := range cost.Usage {
			cost.USD = cost.USD.Plus(m.CostUSD)
		}
	case goesOn:
		before := c.prior.read()
		cost.USD, cost.Usage = max(0, total-before.USD), since(models, before.Models)
	case isTotal:
		cost.USD, cost.Usage = total, models
	default:
		return state.Cost{}
	}
	// The CLI learns what a reply cost at its end: of one that broke off the sum is without it, or with an estimate.
	brokeOff := c.last.Subtype == "success" && c.last.IsError && c.last.hasText && !c.last.isRefusal()
	if !brokeOff && !c.last.isCut() && c.last.TerminalReason != "aborted_streaming" {
		return cost
	}
	if cost.USD == 0 {
		cost.Kind, cost.Usage = "", nil
		return cost
	}
	cost.Kind = state.Estimated
	return cost
}

// since returns what models have reached less what they had reached before.
func since(now, before []state.ModelCost) []state.ModelCost {
	var list []state.ModelCost
	for _, m := range now {
		for _, b := range before {
			if b.Model == m.Model {
				m.Usage, m.CostUSD = m.Minus(b.Usage), max(0, m.CostUSD-b.CostUSD)
			}
		}
		if m.CostUSD > 0 || m.Usage != (state.Usage{Model: m.Model}) {
			list = append(list, m)
		}
	}
	return list
}

// shares is what models used and cost, by name; a name with and without a suffix is one.
type shares map[string]state.ModelCost

// add adds what a record says of models, and reports whether it says of each what it cost.
func (s shares) add(raw jsontext.Value) bool {
	var reported map[string]struct {
		USD    jsontext.Value `json:"costUSD"`
		Counts jsontext.Value `json:",embed"`
	}
	if len(raw) == 0 || json.Unmarshal(raw, &reported, loose) != nil {
		return false
	}
	isValid := reported != nil
	for name, u := range reported {
		usd, ok := program.ParseDollars(u.USD)
		isValid = isValid && ok
		name = bare(name)
		s[name] = state.ModelCost{CostUSD: s[name].CostUSD.Plus(usd), Usage: ofResult.Usage(u.Counts, name).Plus(s[name].Usage)}
	}
	return isValid
}

// list returns them in order of name.
func (s shares) list() []state.ModelCost {
	return slices.SortedFunc(maps.Values(s), func(a, b state.ModelCost) int { return strings.Compare(a.Model, b.Model) })
}

// byModel is what one record says of models.
func byModel(raw jsontext.Value) []state.ModelCost {
	s := shares{}
	s.add(raw)
	return s.list()
}
