package jsonstrict

import (
	"bytes"
	"errors"
	"fmt"
)

// The limits of a text. What the agent CLI and the API write stays far below them.
const (
	MaxValues = 100_000
	MaxDepth  = 256
)

// ErrTooMuch is in the error of every text that is over a limit.
var ErrTooMuch = errors.New("too much to decode")

// CheckSize tells before a JSON text of strangers is decoded whether decoding could cost far
// more memory than the text has: a list of a million empty objects is three megabytes of text,
// and hundreds once each is a struct. Its error has ErrTooMuch in it when a text has more than
// MaxValues values, or values within each other more than MaxDepth deep. It allocates nothing,
// and does not say whether the text is JSON: of one that is not, it counts at least what a
// decoder sees before it gives up. Names of members are no values; an empty list or object may
// be counted twice.
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

// endOfString returns where the string ends that has its first byte at i: the index of
// its closing quotes, or the length of the text.
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
