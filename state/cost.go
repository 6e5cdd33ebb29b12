package state

import (
	"iter"
	"maps"
	"slices"
	"strings"
)

// Usage counts tokens of one model.
type Usage struct {
	Model      string `json:"model,omitempty"`       // its name
	Input      int64  `json:"input,omitempty"`       // tokens of the input that are not of the cache
	Output     int64  `json:"output,omitempty"`      // tokens of the output
	CacheWrite int64  `json:"cache_write,omitempty"` // tokens written to the cache
	CacheHour  int64  `json:"cache_hour,omitempty"`  // those of them that it keeps for an hour
	CacheRead  int64  `json:"cache_read,omitempty"`  // tokens read from the cache
	// Surcharge is what is asked beyond the prices of the tokens: for long prompts, and for what
	// the API has run.
	Surcharge USD `json:"surcharge_usd,omitempty"`
	// HasFees says that the API has counted something else of which nobody knows what it costs.
	HasFees bool `json:"has_fees,omitempty"`
}

// Plus returns the sum of two counts, as of the model of the first.
func (u Usage) Plus(v Usage) Usage {
	u.Input, u.Output = tokenSum(u.Input, v.Input), tokenSum(u.Output, v.Output)
	u.CacheWrite, u.CacheHour = tokenSum(u.CacheWrite, v.CacheWrite), tokenSum(u.CacheHour, v.CacheHour)
	u.CacheRead = tokenSum(u.CacheRead, v.CacheRead)
	u.Surcharge, u.HasFees = u.Surcharge.Plus(v.Surcharge), u.HasFees || v.HasFees
	return u
}

// Minus returns what a count has beyond another one, never below zero. Where that is no token,
// it is nothing.
func (u Usage) Minus(v Usage) Usage {
	u.Input, u.Output = max(0, u.Input-v.Input), max(0, u.Output-v.Output)
	u.CacheWrite, u.CacheRead = max(0, u.CacheWrite-v.CacheWrite), max(0, u.CacheRead-v.CacheRead)
	u.CacheHour, u.Surcharge = min(u.CacheHour, u.CacheWrite), max(0, u.Surcharge-v.Surcharge)
	if u.Total() == 0 {
		return Usage{Model: u.Model}
	}
	return u
}

// Total returns the number of all tokens.
func (u Usage) Total() int64 {
	return tokenSum(tokenSum(u.Input, u.Output), tokenSum(u.CacheWrite, u.CacheRead))
}

// SubtractUsage returns used less before, model by model.
func SubtractUsage(used, before []Usage) []Usage {
	out := slices.Clone(used)
	for i := range out {
		for _, b := range before {
			if b.Model == out[i].Model {
				out[i] = out[i].Minus(b)
			}
		}
	}
	return out
}

// ByModel returns the sums of counts, one element a model, in order of their names. A model of
// which nothing was counted has none.
func ByModel(list iter.Seq[Usage]) []Usage {
	models := map[string]Usage{}
	for u := range list {
		if sum := models[u.Model]; u != (Usage{Model: u.Model}) {
			models[u.Model] = u.Plus(sum)
		}
	}
	return slices.SortedFunc(maps.Values(models), func(a, b Usage) int { return strings.Compare(a.Model, b.Model) })
}

// CostKind says how well a cost is known.
type CostKind string

// The kinds of cost.
const (
	Exact     CostKind = "exact"
	Estimated CostKind = "estimated"
	Unknown   CostKind = "unknown"
	// InTokens is that of a Cost whose process told tokens and no dollars. Whoever books it
	// adds the prices, so that no entry of a ledger is of this kind.
	InTokens CostKind = "tokens"
)

// Cost is what is known of the cost of one process. The zero Cost means that it
// reported nothing.
//
// An agent CLI that tells tokens and no dollars brings one of Kind InTokens, with what this
// process alone used in Usage, and without amounts: of a CLI that counts on over a
// conversation, the difference to the count at the point where it was resumed or branched.
// Where it tells dollars for some models, these have their amounts, and USD is their sum.
type Cost struct {
	// Kind is that of what the process itself reported; "" when that was nothing
	// credible.
	Kind CostKind
	USD  USD
	// Usage has what the process reported that it used, by model.
	Usage []ModelCost
	// Unreported has the tokens that were seen going by and are in no report of the
	// process, as those of an answer that was cut off: one element a model.
	Unreported []Usage
	// Metered has all tokens that somebody other than the process has counted, one
	// element a model; nil where nobody did. The process used this much or more.
	Metered []Usage
	// Silent says that nothing came from the model.
	Silent bool
	// Unpriced is how many of the tokens that the process used have no price, of an agent CLI
	// that tells no dollars. Listed says that the prices that come with its tokens hold, and
	// are not replaced by what other invocations have cost. The runner sets both.
	Unpriced int64
	Listed   bool
	// RunningTotal is how far the agent CLI's own count of the conversation has come, of a
	// CLI that continues to count when a conversation is resumed or branched.
	RunningTotal RunningTotal
}

// ModelCost is one model's share of a cost.
type ModelCost struct {
	Usage
	CostUSD USD `json:"cost_usd,omitempty"`
}

// LedgerEntry is the cost of one agent process.
type LedgerEntry struct {
	N       int      `json:"n" is:"positive"` // the invocation
	Agent   string   `json:"agent"`
	State   string   `json:"state"`
	Session string   `json:"session,omitempty"`
	Kind    CostKind `json:"kind" is:"cost"`
	CostUSD USD      `json:"cost_usd"`
	// Unpriced counts the tokens that are not in CostUSD because their model has no price.
	Unpriced int64       `json:"unpriced,omitempty"`
	Models   []ModelCost `json:"models,omitempty"`
}
