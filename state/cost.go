package state

import (
	"iter"
	"maps"
	"slices"
	"strings"
)

// Usage counts the tokens used with one model.
type Usage struct {
	Model      string `json:"model,omitempty"`       // name of the model
	Input      int64  `json:"input,omitempty"`       // input tokens that were not read from or written to the cache
	Output     int64  `json:"output,omitempty"`      // output tokens
	CacheWrite int64  `json:"cache_write,omitempty"` // tokens written to the cache
	CacheHour  int64  `json:"cache_hour,omitempty"`  // tokens in CacheWrite that the cache keeps for an hour
	CacheRead  int64  `json:"cache_read,omitempty"`  // tokens read from the cache
	// Surcharge is a cost in addition to the normal price of the tokens, for long prompts and for
	// tools that the API ran.
	Surcharge USD `json:"surcharge_usd,omitempty"`
	// HasFees is set if the API reported another charge whose amount is unknown.
	HasFees bool `json:"has_fees,omitempty"`
}

// Plus returns the sum of u and v. The sum has the model of u.
func (u Usage) Plus(v Usage) Usage {
	u.Input, u.Output = tokenSum(u.Input, v.Input), tokenSum(u.Output, v.Output)
	u.CacheWrite, u.CacheHour = tokenSum(u.CacheWrite, v.CacheWrite), tokenSum(u.CacheHour, v.CacheHour)
	u.CacheRead = tokenSum(u.CacheRead, v.CacheRead)
	u.Surcharge, u.HasFees = u.Surcharge.Plus(v.Surcharge), u.HasFees || v.HasFees
	return u
}

// Minus returns u minus v. No count falls below zero. CacheHour is not reduced by v.CacheHour, only
// limited to the remaining CacheWrite. If no tokens remain, all fields except the model are zero.
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

// SubtractUsage subtracts the usage in before from the usage in used, model by model.
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

// ByModel adds up the usage of each model and returns the sums, ordered by model. It leaves out models
// whose sum is zero.
func ByModel(list iter.Seq[Usage]) []Usage {
	models := map[string]Usage{}
	for u := range list {
		if sum := models[u.Model]; u != (Usage{Model: u.Model}) {
			models[u.Model] = u.Plus(sum)
		}
	}
	return slices.SortedFunc(maps.Values(models), func(a, b Usage) int { return strings.Compare(a.Model, b.Model) })
}

// CostKind describes the reliability of a cost.
type CostKind string

// The kinds of cost.
const (
	Exact     CostKind = "exact"
	Estimated CostKind = "estimated"
	Unknown   CostKind = "unknown"
	// InTokens is the kind of a Cost from a process that reported tokens but no cost in dollars. The
	// runner computes the cost from prices before it records the Cost, so no ledger entry has this
	// kind.
	InTokens CostKind = "tokens"
)

// Cost is the known cost of one process of an agent CLI. The zero Cost means that the process
// reported nothing.
//
// An agent CLI that reports tokens but no dollars returns a Cost of kind InTokens without amounts. Its
// Usage counts the tokens of this process alone. If the CLI continues its count when a conversation is
// resumed or copied, Usage is the new count minus the count before this process started. If the CLI
// reports dollars for some models only, these models have amounts, and USD is the sum of them.
type Cost struct {
	// Kind is the kind of the cost that the process reported. It is "" if the process reported
	// nothing valid.
	Kind CostKind
	USD  USD
	// Usage is the reported usage and cost of each model.
	Usage []ModelCost
	// Unreported contains the tokens that were seen in the output but not reported by the process,
	// for example because an answer was cut off. It has one element for each model.
	Unreported []Usage
	// Metered contains all tokens that were counted outside the process, with one element for each
	// model. The process used at least this many. If tokens were not counted, Metered is nil.
	Metered []Usage
	// Silent is set if the model sent no output.
	Silent bool
	// Unpriced is the number of used tokens that have no price, for an agent CLI that reports no
	// dollars. Listed is set if the CLI's cost is computed from list prices. The ledger then keeps the
	// list prices in Outcome.Used, and does not replace them by rates from other invocations. The
	// runner sets both fields.
	Unpriced int64
	Listed   bool
	// RunningTotal is the agent CLI's own total for the conversation. It is set if the CLI
	// continues its count when a conversation is resumed or copied.
	RunningTotal RunningTotal
}

// ModelCost is the usage and the cost of one model.
type ModelCost struct {
	Usage
	CostUSD USD `json:"cost_usd,omitempty"`
}

// LedgerEntry is the cost of one process of an agent CLI.
type LedgerEntry struct {
	N       int      `json:"n" is:"positive"` // number of the invocation
	Agent   string   `json:"agent"`
	State   string   `json:"state"`
	Session string   `json:"session,omitempty"`
	Kind    CostKind `json:"kind" is:"cost"`
	CostUSD USD      `json:"cost_usd"`
	// Unpriced counts the tokens that CostUSD leaves out because their model has no price.
	Unpriced int64       `json:"unpriced,omitempty"`
	Models   []ModelCost `json:"models,omitempty"`
}
