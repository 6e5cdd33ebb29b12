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

// SkipMistyped skips JSON values whose kind doesn't fit a T, so that a field of an unexpected type
// is lost but not the record around it. An integer ignores a number that is not whole.
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

// number reads an integer and ignores any other number.
func number[T int | int64](dec *jsontext.Decoder, to *T) error {
	value, err := dec.ReadValue()
	if n, bad := strconv.ParseInt(string(value), 10, strconv.IntSize); bad == nil {
		*to = T(n)
	}
	return err
}

// MainInput returns the most informative part of a tool's input: the input itself if it is a string,
// else the first of the named fields that is a string and not empty, else the whole JSON. It returns
// "" for an empty input.
func MainInput(input jsontext.Value, names []string) (text string) {
	if json.Unmarshal(input, &text, jsonstrict.Loose) == nil { // null is ""
		return text
	}
	var fields map[string]jsontext.Value
	_ = json.Unmarshal(input, &fields, jsonstrict.Loose) // an input that is not an object has no fields
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

// ParseDollars parses an amount. An amount that is too large becomes state.MostUSD, so that it ends
// the run. The result is false for a negative amount and for anything but a number.
func ParseDollars(raw jsontext.Value) (state.USD, bool) {
	if len(raw) == 0 || raw.Kind() != '0' || raw[0] == '-' {
		return 0, false
	}
	if usd, err := state.ParseUSD(string(raw)); err == nil {
		return usd, true
	}
	if n, _ := strconv.ParseFloat(string(raw), 64); n < 1 { // for example 1e-40; a number above 1e308 is parsed as infinite
		return 0, true
	}
	return state.MaxUSD, true
}

// ParseEpoch parses seconds since 1970. It returns the zero time for anything but a credible number.
func ParseEpoch(raw jsontext.Value) time.Time {
	n, err := strconv.ParseFloat(strings.Trim(string(raw), `"`), 64)
	if err != nil || !(n > 0 && n < 1e11) {
		return time.Time{}
	}
	return time.Unix(int64(n), 0).UTC()
}
