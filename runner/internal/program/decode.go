package program

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/raymond-action/raymond-action/internal/untrusted/jsonstrict"
	"github.com/raymond-action/raymond-action/state"
)

// SkipMistyped passes over values that are not of the kind of a T, so that a field of a type that
// nobody expected costs itself alone. Of a number that is not whole T stays as it is.
func SkipMistyped[T any](kind string) *json.Unmarshalers {
	return json.UnmarshalFromFunc(func(dec *jsontext.Decoder, to *T) error {
		if k := dec.PeekKind(); k != 0 && string(k) != kind {
			return dec.SkipValue()
		}
		switch n := any(to).(type) {
		case *int:
			return number(dec, n)
		case *int64:
			return number(dec, n)
		}
		return errors.ErrUnsupported
	})
}

// number reads a whole number; another one is passed over.
func number[T int | int64](dec *jsontext.Decoder, to *T) error {
	value, err := dec.ReadValue()
	if n, bad := strconv.ParseInt(string(value), 10, strconv.IntSize); bad == nil {
		*to = T(n)
	}
	return err
}

// MainInput returns what says most of the input of a tool: a text, the first of the fields that is one and not empty, or all
// of the JSON; "" for an input that says nothing.
func MainInput(input jsontext.Value, names []string) (text string) {
	if json.Unmarshal(input, &text, jsonstrict.Loose) == nil { // also null
		return text
	}
	var fields map[string]jsontext.Value
	_ = json.Unmarshal(input, &fields, jsonstrict.Loose) // it has none then
	for _, name := range names {
		if json.Unmarshal(fields[name], &text, jsonstrict.Loose) == nil && text != "" {
			return text
		}
	}
	if string(input) == "{}" {
		return ""
	}
	return string(input)
}

// ParseDollars reads an amount. One that is too large to keep is the largest that can be kept, so
// that it ends the run. What is negative or no number is no amount.
func ParseDollars(raw jsontext.Value) (state.USD, bool) {
	if len(raw) == 0 || raw.Kind() != '0' || raw[0] == '-' {
		return 0, false
	}
	if usd, err := state.ParseUSD(string(raw)); err == nil {
		return usd, true
	}
	if n, _ := strconv.ParseFloat(string(raw), 64); n < 1 { // 1e-40; one beyond 1e308 is infinite
		return 0, true
	}
	return state.MaxUSD, true
}

// ParseEpoch reads seconds since 1970. Anything but a credible number is the zero time.
func ParseEpoch(raw jsontext.Value) time.Time {
	n, err := strconv.ParseFloat(strings.Trim(string(raw), `"`), 64)
	if err != nil || !(n > 0 && n < 1e11) {
		return time.Time{}
	}
	return time.Unix(int64(n), 0).UTC()
}
