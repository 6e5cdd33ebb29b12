package schema

import (
	"errors"
	"fmt"
	"io"
	"math/big"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The limits of a JSON text: its bytes, the values in it, and how deep they lie within each
// other.
const (
	maxBytes  = 1 << 20
	maxValues = 20_000
	maxDepth  = 64
)

// The longest number, and the largest power of ten in it: more than a program reads that
// does not compute with numbers of any length.
const (
	maxNumber   = 400
	maxExponent = 400
)

// number is a number as it is written.
type number string

// exact returns its value.
func (n number) exact() *big.Rat {
	r, _ := new(big.Rat).SetString(string(n)) // readNumber has checked it
	return r
}

// GoString is the same for equal numbers.
func (n number) GoString() string { return n.exact().RatString() }

// keyOf returns a text that equal values have in common, and no others.
func keyOf(v any) string {
	if s, ok := v.(string); ok {
		return strconv.Quote(s)
	}
	return fmt.Sprintf("%#v", v)
}

// isWithin reports whether a number is as a keyword demands.
func isWithin(keyword string, got, limit *big.Rat) bool {
	switch keyword {
	case "minimum":
		return got.Cmp(limit) >= 0
	case "maximum":
		return got.Cmp(limit) <= 0
	case "exclusiveMinimum":
		return got.Cmp(limit) > 0
	case "exclusiveMaximum":
		return got.Cmp(limit) < 0
	}
	return new(big.Rat).Quo(got, limit).IsInt() // multipleOf
}

// read returns the one JSON value of a text, strictly read.
func read(text string) (value any, v *Violation) {
	if strings.TrimSpace(text) == "" {
		return nil, &Violation{Message: "it is empty, and not JSON"}
	}
	if len(text) > maxBytes {
		return nil, &Violation{Message: fmt.Sprintf("it has %d bytes, over the limit of %d", len(text), maxBytes)}
	}
	dec := jsontext.NewDecoder(strings.NewReader(text), json.WithUnmarshalers(json.UnmarshalFromFunc(reader())))
	err := json.UnmarshalDecode(dec, &value)
	if err == nil {
		if _, err = dec.ReadToken(); err == nil {
			return nil, &Violation{Message: "there is more than one JSON value"}
		}
	}
	if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return value, nil
	}
	return nil, wrongJSON(text, err)
}

// reader reads each value of a text, and counts them.
func reader() func(*jsontext.Decoder, *any) error {
	left := maxValues
	return func(dec *jsontext.Decoder, value *any) error {
		left--
		switch {
		case left < 0:
			return &Violation{Message: fmt.Sprintf("it has more than %d values", maxValues)}
		case dec.StackDepth() > maxDepth:
			return &Violation{Message: fmt.Sprintf("its values are more than %d deep", maxDepth)}
		case dec.PeekKind() == '0':
			return readNumber(dec, value)
		}
		return errors.ErrUnsupported
	}
}

// readNumber refuses a number that would cost more to compute with than it is long.
func readNumber(dec *jsontext.Decoder, value *any) error {
	token, err := dec.ReadToken()
	if err != nil {
		return err
	}
	text, exponent := token.String(), 0
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		n, err := strconv.Atoi(text[i+1:])
		if err != nil {
			n = maxExponent + 1
		}
		exponent = max(n, -n)
	}
	if len(text) > maxNumber || exponent > maxExponent {
		return &Violation{Place: shorten(string(dec.StackPointer())), Message: "the number is too long or too large"}
	}
	*value = number(text)
	return nil
}

// wrongJSON says why a text was not read.
func wrongJSON(text string, err error) *Violation {
	var v *Violation
	var syntax *jsontext.SyntacticError
	switch {
	case errors.As(err, &v):
		return v
	case errors.Is(err, jsontext.ErrDuplicateName) && errors.As(err, &syntax):
		return &Violation{Place: shorten(string(syntax.JSONPointer)), Message: "the name is there twice"}
	case errors.As(err, &syntax):
		at := min(int(syntax.ByteOffset), len(text))
		line := 1 + strings.Count(text[:at], "\n")
		return &Violation{Message: fmt.Sprintf("it is not JSON: %v (line %d)", syntax.Err, line)}
	}
	return &Violation{Message: "it is not JSON: " + shorten(err.Error())}
}

// Error makes a Violation what a reader ends with.
func (v *Violation) Error() string { return v.String() }
