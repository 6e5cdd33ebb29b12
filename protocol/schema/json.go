package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// limits bound a JSON text: its bytes, the values in it, and how deep they lie within each
// other.
type limits struct{ bytes, values, depth int }

// The longest number, and the largest power of ten in it: more than a program reads that
// does not compute with numbers of any length.
const (
	maxNumber   = 400
	maxExponent = 400
)

// read returns the one JSON value of a text, strictly read, as encoding/json decodes it with
// UseNumber.
func read(text string, l limits) (any, *Violation) {
	if strings.TrimSpace(text) == "" {
		return nil, &Violation{Message: "it is empty, and not JSON"}
	}
	if len(text) > l.bytes {
		return nil, &Violation{Message: fmt.Sprintf("it has %d bytes, over the limit of %d", len(text), l.bytes)}
	}
	r := reader{dec: jsontext.NewDecoder(strings.NewReader(text)), left: l.values, limits: l}
	value, err := r.value(0)
	if err == nil {
		if _, err = r.dec.ReadToken(); err == nil {
			return nil, &Violation{Message: "there is more than one JSON value"}
		}
	}
	if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return value, nil
	}
	return nil, wrongJSON(text, err)
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

// reader reads one JSON value.
type reader struct {
	dec  *jsontext.Decoder
	left int // values that may still come
	limits
}

func (r *reader) value(depth int) (any, error) {
	if r.left--; r.left < 0 {
		return nil, &Violation{Message: fmt.Sprintf("it has more than %d values", r.values)}
	}
	if depth > r.depth {
		return nil, &Violation{Message: fmt.Sprintf("its values are more than %d deep", r.depth)}
	}
	token, err := r.dec.ReadToken()
	if err != nil {
		return nil, err
	}
	switch token.Kind() {
	case '{':
		return r.object(depth)
	case '[':
		return r.array(depth)
	case '"':
		return token.String(), nil
	case '0':
		return r.number(token.String())
	case 't', 'f':
		return token.Bool(), nil
	}
	return nil, nil
}

func (r *reader) object(depth int) (any, error) {
	object := map[string]any{}
	for r.dec.PeekKind() != '}' {
		name, err := r.dec.ReadToken()
		if err != nil {
			return nil, err
		}
		key := name.String() // the token is gone with the next one
		if object[key], err = r.value(depth + 1); err != nil {
			return nil, err
		}
	}
	_, err := r.dec.ReadToken()
	return object, err
}

func (r *reader) array(depth int) (any, error) {
	array := []any{}
	for r.dec.PeekKind() != ']' {
		value, err := r.value(depth + 1)
		if err != nil {
			return nil, err
		}
		array = append(array, value)
	}
	_, err := r.dec.ReadToken()
	return array, err
}

// number refuses a number that would cost more to compute with than it is long.
func (r *reader) number(text string) (any, error) {
	exponent := 0
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		n, err := strconv.Atoi(text[i+1:])
		if err != nil {
			n = maxExponent + 1
		}
		exponent = max(n, -n)
	}
	if len(text) > maxNumber || exponent > maxExponent {
		return nil, &Violation{Place: shorten(string(r.dec.StackPointer())), Message: "the number is too long or too large"}
	}
	return json.Number(text), nil
}
