package state

import (
	"errors"
	"math/big"
	"strconv"
	"strings"
)

// USD is an amount of money in billionths of a US dollar, so that sums and
// comparisons are exact. Its text and JSON form is a decimal number of dollars.
type USD int64

// Dollar is one US dollar.
const Dollar USD = 1e9

// ParseUSD reads a plain decimal number of dollars ("10", "0.25"). Digits
// beyond the ninth decimal are rounded to nearest. Signs, leading zeros,
// hexadecimal forms, infinities and amounts over a billion dollars are errors;
// an exponent is accepted because JSON numbers may carry one.
func ParseUSD(s string) (USD, error) {
	if !plainNumber(s) {
		return 0, errors.New("want a plain decimal number of US dollars")
	}
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		return 0, errors.New("want a plain decimal number of US dollars")
	}
	r.Mul(r, big.NewRat(int64(Dollar), 1))
	r.Add(r, big.NewRat(1, 2))
	n := new(big.Int).Div(r.Num(), r.Denom())
	if !n.IsInt64() || n.Int64() > 1e18 {
		return 0, errors.New("want at most 1000000000 US dollars")
	}
	return USD(n.Int64()), nil
}

// plainNumber reports whether s is a JSON number that is not negative and whose
// exponent, if any, is small.
func plainNumber(s string) bool {
	mantissa, exp, found := strings.Cut(strings.ToLower(s), "e")
	if found {
		if n, err := strconv.Atoi(exp); err != nil || n < -30 || n > 30 {
			return false
		}
	}
	whole, frac, dot := strings.Cut(mantissa, ".")
	if !digits(whole) || (dot && !digits(frac)) {
		return false
	}
	return len(whole) == 1 || whole[0] != '0'
}

func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// String returns the amount in dollars with as many decimals as it needs.
func (u USD) String() string {
	sign := ""
	if u < 0 {
		sign, u = "-", -u
	}
	out := sign + strconv.FormatInt(int64(u/Dollar), 10)
	if frac := u % Dollar; frac != 0 {
		digits := strconv.FormatInt(int64(Dollar+frac), 10)[1:]
		out += "." + strings.TrimRight(digits, "0")
	}
	return out
}

// MarshalJSON implements json.Marshaler with a decimal number.
func (u USD) MarshalJSON() ([]byte, error) { return []byte(u.String()), nil }

// UnmarshalJSON implements json.Unmarshaler. It refuses what ParseUSD refuses.
func (u *USD) UnmarshalJSON(data []byte) error {
	v, err := ParseUSD(string(data))
	*u = v
	return err
}
