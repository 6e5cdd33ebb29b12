package schema

import (
	"encoding/json"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// exact are the values that const or enum allows.
type exact struct {
	keyword string
	values  map[string]bool // by keyOf
	wanted  string          // says which they are
}

func newExact(keyword string, values []any) exact {
	e := exact{keyword: keyword, values: map[string]bool{}, wanted: "'" + keyword + "' failed"}
	var shown []string
	for _, v := range values {
		e.values[keyOf(v)] = true
		switch v.(type) {
		case []any, map[string]any:
			continue
		}
		shown = append(shown, display(v))
	}
	switch {
	case len(shown) < len(values): // what is not simple is not shown
	case len(shown) == 1:
		e.wanted = "value must be " + shown[0]
	default:
		e.wanted = "value must be one of " + strings.Join(shown, ", ")
	}
	return e
}

// display returns a value that is neither an array nor an object for people.
func display(v any) string {
	switch v := v.(type) {
	case string:
		return quoted(v)
	case bool:
		return strconv.FormatBool(v)
	case json.Number:
		return v.String()
	}
	return "<nil>"
}

// keyOf returns a text that equal values have in common, and no others.
func keyOf(v any) string {
	if s, ok := v.(string); ok {
		return "s" + s // needs no end, as nothing follows
	}
	var b strings.Builder
	writeKey(&b, v)
	return b.String()
}

func writeKey(b *strings.Builder, v any) {
	switch v := v.(type) {
	case map[string]any:
		b.WriteByte('{')
		for _, name := range slices.Sorted(maps.Keys(v)) {
			b.WriteString(strconv.Itoa(len(name)) + ":" + name)
			writeKey(b, v[name])
		}
		b.WriteByte('}')
	case []any:
		b.WriteByte('[')
		for _, item := range v {
			writeKey(b, item)
		}
		b.WriteByte(']')
	case string:
		b.WriteString("s" + strconv.Itoa(len(v)) + ":" + v)
	case json.Number:
		digits, exponent := parts(v)
		b.WriteString("n" + digits + "e" + strconv.Itoa(exponent) + ";")
	case bool:
		b.WriteString(strconv.FormatBool(v)[:1])
	default:
		b.WriteByte('0')
	}
}

// parts returns the digits of a number with its sign, without zeros at either end, and the power of
// ten that they are to be multiplied by. Equal numbers have equal parts.
func parts(n json.Number) (digits string, exponent int) {
	text, sign := strings.CutPrefix(string(n), "-")
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		exponent, _ = strconv.Atoi(text[i+1:]) // read has checked it
		text = text[:i]
	}
	whole, fraction, _ := strings.Cut(text, ".")
	exponent -= len(fraction)
	digits = strings.TrimLeft(whole+fraction, "0")
	short := strings.TrimRight(digits, "0")
	exponent += len(digits) - len(short)
	switch {
	case short == "":
		return "0", 0
	case sign:
		return "-" + short, exponent
	}
	return short, exponent
}

func isInteger(n json.Number) bool {
	_, exponent := parts(n)
	return exponent >= 0
}

// ratOf returns the exact value of a number.
func ratOf(n json.Number) *big.Rat {
	r, _ := new(big.Rat).SetString(string(n)) // read has checked it
	return r
}

// sameItems returns the first item that equals one before it, and that one.
func sameItems(items []any) (i, j int, ok bool) {
	known := make(map[string]int, len(items))
	for j, item := range items {
		key := keyOf(item)
		if i, ok := known[key]; ok {
			return i, j, true
		}
		known[key] = j
	}
	return 0, 0, false
}
