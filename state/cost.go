package state

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"math/big"
	"slices"
	"strconv"
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

// Price is the price of a model in US dollars for a million tokens.
type Price struct {
	Input       float64 `json:"input"`        // input tokens that were not read from the cache
	CachedInput float64 `json:"cached_input"` // input tokens read from the cache
	CacheWrite  float64 `json:"cache_write"`  // input tokens written to the cache
	Output      float64 `json:"output"`       // output tokens
	// Long makes requests with a long prompt more expensive.
	Long Long `json:"long,omitzero"`
}

// Long contains the factors for the price of a request with more than Over prompt tokens. It is zero for
// models whose price does not depend on the length of the prompt.
type Long struct {
	Over   int64   `json:"over" yaml:"over"`     // number of prompt tokens above which the factors apply
	Input  float64 `json:"input" yaml:"input"`   // factor for input tokens, including tokens read from the cache or written to it
	Output float64 `json:"output" yaml:"output"` // factor for output tokens
}

// hourFactor is the price of a token that the cache keeps for an hour, as a multiple of the price of an
// input token.
const hourFactor = 2

// Cost returns the normal price of the tokens in u, plus the amount in u.Surcharge. It does not compute
// the extra cost of a long prompt; see Price.Surcharge.
func (p Price) Cost(u Usage) USD { return usd(p.input(u) + p.output(u)).Plus(max(0, u.Surcharge)) }

// Surcharge returns the extra cost of a single request with a long prompt, beyond the normal price of its
// tokens. It returns 0 if the prompt is not long.
func (p Price) Surcharge(u Usage) USD {
	if p.Long.Over == 0 || u.Input+u.CacheWrite+u.CacheRead <= p.Long.Over {
		return 0
	}
	return usd((p.Long.Input-1)*p.input(u) + (p.Long.Output-1)*p.output(u))
}

// perToken converts dollars for a million tokens to billionths of a dollar for one token.
const perToken = float64(Dollar) / 1e6

// input returns the cost of all input tokens, in billionths of a dollar.
func (p Price) input(u Usage) float64 {
	plain := p.Input*float64(u.Input) + p.CachedInput*float64(u.CacheRead) + p.CacheWrite*float64(u.CacheWrite)
	return (plain + (hourFactor*p.Input-p.CacheWrite)*float64(u.CacheHour)) * perToken
}

// output returns the cost of the output tokens, in billionths of a dollar.
func (p Price) output(u Usage) float64 { return p.Output * float64(u.Output) * perToken }

// USD is an amount of money in billionths of a US dollar. Sums and comparisons are therefore exact. In
// text and JSON, it is a decimal number of dollars.
type USD int64

// Dollar is one US dollar.
const Dollar USD = 1e9

// MaxUSD is the largest amount. Plus and other functions reduce larger amounts to it.
const MaxUSD = 1e9 * Dollar

// Plus returns the sum of two non-negative amounts, at most MaxUSD.
func (u USD) Plus(v USD) USD { return min(min(u, MaxUSD)+min(v, MaxUSD), MaxUSD) }

// Spent is an amount that was spent. It also records which parts are estimated or unknown.
type Spent struct {
	USD       USD  `json:"cost_usd"`
	Estimated bool `json:"cost_estimated,omitempty"` // whether part of the amount is an estimate
	Unknown   int  `json:"cost_unknown,omitempty"`   // number of invocations that the amount leaves out because their cost is unknown
	// Unpriced is the number of tokens that USD leaves out because their model has no price.
	Unpriced int64 `json:"cost_unpriced,omitempty"`
}

// Plus returns the sum of s and t.
func (s Spent) Plus(t Spent) Spent {
	return Spent{s.USD.Plus(t.USD), s.Estimated || t.Estimated, s.Unknown + t.Unknown, tokenSum(s.Unpriced, t.Unpriced)}
}

// Minus returns s minus t. s must include t.
func (s Spent) Minus(t Spent) Spent {
	return Spent{max(0, s.USD-t.USD), s.Estimated, max(0, s.Unknown-t.Unknown), max(0, s.Unpriced-t.Unpriced)}
}

// AtLeast returns s with every field raised to the value in t if that is larger.
func (s Spent) AtLeast(t Spent) Spent {
	return Spent{max(s.USD, t.USD), s.Estimated || t.Estimated, max(s.Unknown, t.Unknown), max(s.Unpriced, t.Unpriced)}
}

// String returns the amount as messages show it: "$0.0123", "~$4.56" if part of it is an estimate,
// "$0.0123 + 4.5k tokens" if some tokens have no price, "$0.0123 + unknown" if the cost of some
// invocations is unknown, or "unknown".
func (s Spent) String() string {
	var parts []string
	if s.USD > 0 || s.Unpriced == 0 && s.Unknown == 0 {
		parts = append(parts, s.USD.Dollars())
	}
	switch n := s.Unpriced; {
	case n <= 0:
	case n < 1000:
		parts = append(parts, Count(int(n), "token"))
	case n < 999_950:
		parts = append(parts, fmt.Sprintf("%.1fk tokens", float64(n)/1e3))
	default:
		parts = append(parts, fmt.Sprintf("%.1fM tokens", float64(n)/1e6))
	}
	if s.Unknown > 0 {
		parts = append(parts, "unknown")
	}
	text := strings.Join(parts, " + ")
	if s.Estimated && text != "unknown" {
		text = "~" + text
	}
	return text
}

// ExactString returns the amount with all its decimals, like "$1.03525", or "~$1.03525" if part of it
// is an estimate.
func (s Spent) ExactString() string {
	if s.Estimated {
		return "~$" + s.USD.String()
	}
	return "$" + s.USD.String()
}

// Dollars returns the rounded amount. An amount of at least one dollar is rounded to cents, and a smaller
// amount to hundredths of a cent.
func (u USD) Dollars() string {
	step, decimals := Dollar/10_000, 4
	if u+step/2 >= Dollar {
		step, decimals = Dollar/100, 2
	}
	n, per := (u+step/2)/step, Dollar/step
	return fmt.Sprintf("$%d.%0*d", n/per, decimals, n%per)
}

// ParseUSD parses a plain decimal number of dollars, like "10" or "0.25". It rounds to nine decimals.
// It returns an error for signs, leading zeros, hexadecimal forms, infinities and amounts over a billion
// dollars. An exponent is allowed, because numbers in JSON may have an exponent.
func ParseUSD(s string) (USD, error) {
	if !isPlain(s) {
		return 0, errors.New("use a plain decimal number of US dollars")
	}
	r, _ := new(big.Rat).SetString(s) // isPlain ensures that this succeeds
	r.Mul(r, big.NewRat(int64(Dollar), 1))
	r.Add(r, big.NewRat(1, 2))
	n := new(big.Int).Div(r.Num(), r.Denom())
	if !n.IsInt64() || USD(n.Int64()) > MaxUSD {
		return 0, errors.New("want at most 1000000000 US dollars")
	}
	return USD(n.Int64()), nil
}

// isPlain reports whether a text is a non-negative JSON number. An exponent must be between -29 and 29.
var isPlain = matches(`^(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-2]?[0-9])?$`)

// String returns the amount in dollars with as many decimals as necessary.
func (u USD) String() string {
	out := strconv.FormatInt(int64(u/Dollar), 10)
	if frac := u % Dollar; frac != 0 {
		digits := strconv.FormatInt(int64(Dollar+frac), 10)[1:]
		out += "." + strings.TrimRight(digits, "0")
	}
	return out
}

// MarshalJSON implements json.Marshaler. It returns a decimal number of dollars.
func (u USD) MarshalJSON() ([]byte, error) { return []byte(u.String()), nil }

// UnmarshalJSON implements json.Unmarshaler. It accepts the same numbers as ParseUSD.
func (u *USD) UnmarshalJSON(data []byte) error {
	v, err := ParseUSD(string(data))
	*u = v
	return err
}
