package jsonstrict

import (
	"bytes"
	"errors"
	"fmt"
)

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
