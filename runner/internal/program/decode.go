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

// SkipMistyped returns unmarshalers for the type T that skip JSON values of another kind. kind is the kind
// that fits T, for example "{" for a struct. A field with an unexpected type is then ignored, and the record
// around it can still be decoded. If T is an integer type, numbers that are not integers are ignored too.
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

// number decodes the next JSON number into *to. It ignores a number that is not an integer.
func number[T int | int64](dec *jsontext.Decoder, to *T) error {
	value, err := dec.ReadValue()
	if n, bad := strconv.ParseInt(string(value), 10, strconv.IntSize); bad == nil {
		*to = T(n)
	}
	return err
}

// MainInput returns the most informative part of a tool's input. If the input is a string, it returns
// that string. Otherwise, it returns the first of the named fields that contains a string that is not
// empty. If there is no such field, it returns the whole JSON. It returns "" for an empty input.
func MainInput(input jsontext.Value, names []string) (text string) {
	if json.Unmarshal(input, &text, jsonstrict.Loose) == nil { // null sets text to ""
		return text
	}
	var fields map[string]jsontext.Value
	_ = json.Unmarshal(input, &fields, jsonstrict.Loose) // if the input is not an object, fields stays empty
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

// ParseDollars parses an amount. If the amount is too large, it returns state.MaxUSD, which ends the
// run. It returns false if raw is negative or not a number.
func ParseDollars(raw jsontext.Value) (state.USD, bool) {
	if len(raw) == 0 || raw.Kind() != '0' || raw[0] == '-' {
		return 0, false
	}
	if usd, err := state.ParseUSD(string(raw)); err == nil {
		return usd, true
	}
	// The amount may be too small, for example 1e-40. A number above 1e308 is parsed as infinite, and so is
	// too large.
	if n, _ := strconv.ParseFloat(string(raw), 64); n < 1 {
		return 0, true
	}
	return state.MaxUSD, true
}

// ParseEpoch parses seconds since 1970. It returns the zero time if raw is not a plausible number of
// seconds.
func ParseEpoch(raw jsontext.Value) time.Time {
	n, err := strconv.ParseFloat(strings.Trim(string(raw), `"`), 64)
	if err != nil || !(n > 0 && n < 1e11) {
		return time.Time{}
	}
	return time.Unix(int64(n), 0).UTC()
}
