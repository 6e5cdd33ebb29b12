// Package jsonstrict decodes JSON that only this program writes. It rejects everything that this program
// would not have written: more than one value, null, invalid UTF-8, and fields that are duplicated, unknown
// or in another case. So an attacker can't write a file that two readers understand differently. For JSON
// of other programs it only checks limits.
package jsonstrict

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
)

// Error describes an error in a JSON text and the field in which it occurs.
type Error struct {
	Field string // for example "agents[0].stack[2].state"; empty for the whole value
	What  string
}

func (e *Error) Error() string {
	if e.Field == "" {
		return e.What
	}
	return e.Field + ": " + e.What
}

// Decode decodes one JSON value into to. The error is an *Error.
func Decode(data []byte, to any) error {
	if err := check(data); err != nil {
		return err
	}
	return unmarshal(data, to)
}

// DecodeVersion is like Decode for an object whose field schema must be the given number. If the number
// differs, the error reports that, even if fields are unknown or have the wrong type.
func DecodeVersion(data []byte, to any, schema int) error {
	if err := check(data); err != nil {
		return err
	}
	if bytes.TrimSpace(data)[0] != '{' {
		return &Error{What: "is not a JSON object"}
	}
	var head struct {
		Schema jsontext.Value `json:"schema"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return errorOf(err)
	}
	found, err := strconv.Atoi(string(head.Schema))
	switch {
	case head.Schema.Kind() != '0':
		return &Error{"schema", "is missing or not a number"}
	case err != nil || found != schema:
		return &Error{"schema", fmt.Sprintf("is %.20s, want %d: another version of this program wrote it", head.Schema, schema)}
	}
	return unmarshal(data, to)
}

// unmarshal decodes data into to. It decodes a time.Duration as a number of nanoseconds, like encoding/json.
func unmarshal(data []byte, to any) error {
	return errorOf(json.Unmarshal(data, to, json.RejectUnknownMembers(true), jsonv1.FormatDurationAsNano(true)))
}

// Limits on the number of lists and objects. A struct may need hundreds of bytes of memory, although its text
// has only two bytes. This program writes many more bytes for each list or object.
const (
	baseValues = 20_000 // number that even a short text may have
	valueBytes = 64     // a text may have one more for each of this many bytes
	maxValues  = 500_000
	maxMembers = 200_000 // maximum number of names and values in one object
)

// check reads all tokens of a value. It returns an error for null, for data after the value, and if there are
// far more lists and objects than this program writes into a text of that size. Duplicate names and invalid
// UTF-8 are errors of the decoder.
func check(data []byte) error {
	if len(bytes.TrimSpace(data)) == 0 {
		return &Error{What: "is empty"}
	}
	d, left := jsontext.NewDecoder(bytes.NewReader(data)), min(baseValues+len(data)/valueBytes, maxValues)
	for {
		tok, err := d.ReadToken()
		if err != nil {
			return errorOf(err)
		}
		if kind := tok.Kind(); kind == '{' || kind == '[' {
			left--
		}
		in, n := d.StackIndex(d.StackDepth())
		switch {
		case left < 0 || in == '{' && n > maxMembers:
			return &Error{What: "has more values than this program would write"}
		case tok.Kind() == 'n':
			return &Error{field(d.StackPointer()), "is null; a value is required"}
		case d.StackDepth() > 0:
			continue
		case len(bytes.TrimSpace(data[d.InputOffset():])) > 0:
			return &Error{What: "has more after the end of the JSON value"}
		}
		return nil
	}
}

// errorOf converts an error of the JSON library to an *Error. It returns nil if err is nil.
func errorOf(err error) error {
	var syntax *jsontext.SyntacticError
	var semantic *json.SemanticError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return &Error{What: "is cut off"}
	case errors.As(err, &syntax):
		return &Error{field(syntax.JSONPointer), strings.TrimPrefix(syntax.Err.Error(), "jsontext: ")}
	case errors.As(err, &semantic) && semantic.Err != nil:
		return &Error{field(semantic.JSONPointer), strings.TrimPrefix(semantic.Err.Error(), "json: ")}
	case errors.As(err, &semantic):
		return &Error{field(semantic.JSONPointer), "has the wrong type"}
	}
	return &Error{What: err.Error()}
}

// field formats a JSON pointer for messages, for example as agents[0].stack[2].state.
func field(p jsontext.Pointer) string {
	var out strings.Builder
	for tok := range p.Tokens() {
		switch {
		case tok != "" && strings.Trim(tok, "0123456789") == "":
			out.WriteString("[" + tok + "]")
		case out.Len() > 0:
			out.WriteString("." + tok)
		default:
			out.WriteString(tok)
		}
	}
	return out.String()
}

// Loose contains options for decoding JSON of agent CLIs and models, which may contain duplicate names and
// invalid UTF-8.
var Loose = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// Limits that CheckSize enforces. The output of agent CLIs and APIs stays far below them.
const (
	MaxValues = 100_000
	MaxDepth  = 256
)

// ErrTooMuch means that a text exceeds a limit of CheckSize.
var ErrTooMuch = errors.New("too much to decode")

// CheckSize returns an error if decoding an untrusted JSON text could need far more memory than the text.
// For example, three megabytes of text can be a list of a million empty objects, which need hundreds of
// megabytes as structs. The error wraps ErrTooMuch. It is returned if the text has more than MaxValues
// values or more than MaxDepth levels. CheckSize allocates no memory and doesn't check the syntax. In
// invalid JSON it counts at least the values that a decoder reads before the error. Member names don't
// count as values. An empty list or object may count twice.
func CheckSize(data []byte) error {
	values, depth := 1, 0
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '"':
			i = endOfString(data, i+1)
			continue
		case '[', '{':
			depth++
			values++
		case ']', '}':
			depth--
		case ',':
			values++
		}
		if values > MaxValues {
			return fmt.Errorf("%w: it has more than %d values", ErrTooMuch, MaxValues)
		}
		if depth > MaxDepth {
			return fmt.Errorf("%w: its values are more than %d deep", ErrTooMuch, MaxDepth)
		}
	}
	return nil
}

// endOfString returns the index of the quote that ends a string. i is the index of the string's first byte.
// If no quote ends the string, endOfString returns the length of data.
func endOfString(data []byte, i int) int {
	for {
		n := bytes.IndexByte(data[i:], '"')
		if n < 0 {
			return len(data)
		}
		escapes := 0
		for escapes < n && data[i+n-1-escapes] == '\\' {
			escapes++
		}
		if i += n; escapes%2 == 0 {
			return i
		}
		i++
	}
}
