package state

import (
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"
)

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
	if s.Unpriced > 0 {
		parts = append(parts, manyTokens(s.Unpriced))
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

// manyTokens returns a rounded number of tokens, like "812 tokens" or "4.5k tokens".
func manyTokens(n int64) string {
	switch {
	case n == 1:
		return "1 token"
	case n < 1000:
		return fmt.Sprintf("%d tokens", n)
	case n < 999_950:
		return fmt.Sprintf("%.1fk tokens", float64(n)/1e3)
	default:
		return fmt.Sprintf("%.1fM tokens", float64(n)/1e6)
	}
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
