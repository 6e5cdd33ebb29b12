package jsonstrict

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
)

func TestCheckSize(t *testing.T) {
	list := func(n int, value string) string { return "[" + strings.Repeat(value+",", n-1) + value + "]" }
	nested := func(n int, open, end string) string { return strings.Repeat(open, n) + strings.Repeat(end, n) }
	tests := map[string]struct {
		text string
		want bool // whether CheckSize must return ErrTooMuch
	}{
		"empty":               {"", false},
		"one value":           {"1", false},
		"not JSON":            {`}}]]"`, false},
		"many numbers":        {list(MaxValues-1, "0"), false},
		"too many numbers":    {list(MaxValues, "0"), true},
		"too many objects":    {list(MaxValues/2+1, "{}"), true},
		"too many members":    {`{` + strings.Repeat(`"a":1,`, MaxValues) + `"b":1}`, true},
		"deep lists":          {nested(MaxDepth, "[", "]"), false},
		"too deep lists":      {nested(MaxDepth+1, "[", "]"), true},
		"too deep objects":    {strings.Repeat(`{"a":`, MaxDepth+1), true},
		"wide and not deep":   {list(1000, nested(3, "[", "]")), false},
		"commas in a string":  {`"` + strings.Repeat(",", 2*MaxValues) + `"`, false},
		"lists in a string":   {`["` + strings.Repeat("[", 2*MaxDepth) + `"]`, false},
		"escaped quotes":      {`"\"` + strings.Repeat(",", 2*MaxValues) + `"`, false},
		"escaped escape":      {`["\\",` + list(MaxValues, "0")[1:], true},
		"odd escapes":         {`"\\\"` + strings.Repeat(",", 2*MaxValues) + `"`, false},
		"string with no end":  {`["` + strings.Repeat(",", 2*MaxValues), false},
		"escape as last byte": {`"\`, false},
	}
	for name, test := range tests {
		err := CheckSize([]byte(test.text))
		assert.Check(t, is.Equal(errors.Is(err, ErrTooMuch), test.want), "%s (%.20s): got %v, want too much: %v", name, test.text, err, test.want)
	}
}

// FuzzCheckSize checks that a decoder never reads far more values than CheckSize allows.
func FuzzCheckSize(f *testing.F) {
	f.Add(`{"a":[1,{"b":"\\\"["}],"c":null}`)
	f.Add(`[[],{},"\`)
	f.Fuzz(func(t *testing.T, text string) {
		// The text is repeated, so that even a small text reaches the limit.
		times := MaxValues/16 + 1
		many := "[" + strings.Repeat(text+",", times)
		if len(text) > 64 || CheckSize([]byte(many)) != nil {
			return
		}
		values, dec := 0, jsontext.NewDecoder(strings.NewReader(many), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
		for {
			token, err := dec.ReadToken()
			if err != nil {
				break
			}
			if dec.StackDepth() > MaxDepth {
				t.Fatalf("%q: a depth of %d passed", text, dec.StackDepth())
			}
			if kind := token.Kind(); kind != ']' && kind != '}' {
				values++
			}
		}
		if values > 2*MaxValues { // names are tokens too
			t.Fatalf("%q: %d tokens passed", text, values)
		}
	})
}

// TestCheckSizeIsLinear runs into its timeout if CheckSize takes quadratic time for a text of 16 MiB.
// CheckSize must also allocate almost no memory.
func TestCheckSizeIsLinear(t *testing.T) {
	const size = 16 << 20
	for _, piece := range []string{`\`, `"`, `\"`, `\\"`, `""`, " ", "a", "]"} {
		_ = CheckSize([]byte(`"` + strings.Repeat(piece, size/len(piece))))
	}
	n := testing.AllocsPerRun(10, func() { _ = CheckSize([]byte(`{"a":[1,2,"\"",{}]}`)) })
	assert.Check(t, n <= 1, "got %v allocations", n)
}
