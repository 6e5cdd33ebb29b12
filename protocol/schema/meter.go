package schema

import (
	"encoding/json"
	"errors"
	"regexp"
	"regexp/syntax"
)

// What it may cost to hold a text to a schema: how often a value meets a schema, the failures
// that are kept, and steps, of which a processor does some hundred millions in a second.
const (
	maxVisits   = 100_000
	maxFailures = 500_000
	maxSteps    = 100_000_000
)

// The sizes of compiled patterns: of one, and of all patterns of a schema.
const (
	maxPattern  = 10_000
	maxPatterns = 100_000
)

// meter counts what it costs to hold a text to a schema. When it is spent, the rest of the
// work is left out, and the result means nothing.
type meter struct {
	visits, failures, steps int // that are left
	isSpent                 bool
}

func newMeter() *meter { return &meter{visits: maxVisits, failures: maxFailures, steps: maxSteps} }

// spend reports whether some steps may be done.
func (m *meter) spend(steps int) bool {
	if m.steps -= steps; m.steps < 0 || steps < 0 {
		m.isSpent = true
	}
	return !m.isSpent
}

// weigh is called whenever a value meets a schema, before anything that can be long. It reports
// whether the rest may be done.
func (m *meter) weigh(w weight, v any) bool {
	const perStep = 20 // of the counter
	cost := w.once + len16(v) + width(v)*(1+w.each)
	if w.isDeep && !m.isSpent {
		cost += sizeOf(v) // a key is made of it
	}
	return m.spend(perStep * cost)
}

// visit is called when a value of a possible type, and of the values of enum, meets a schema.
func (m *meter) visit() bool {
	if m.visits--; m.visits < 0 {
		m.isSpent = true
	}
	return !m.isSpent
}

// countFailure is called for each failure that is kept.
func (m *meter) countFailure() {
	if m.failures--; m.failures < 0 {
		m.isSpent = true
	}
}

// width is the number of members or items of a value.
func width(v any) int {
	switch v := v.(type) {
	case map[string]any:
		return len(v)
	case []any:
		return len(v)
	}
	return 0
}

// len16 is the length of a string or a number, in 16 bytes.
func len16(v any) int {
	switch v := v.(type) {
	case string:
		return len(v) / 16
	case json.Number:
		return len(v) / 16
	}
	return 0
}

// pattern is a regular expression of those that need time in proportion to the text.
type pattern struct {
	*regexp.Regexp
	size int
}

func newPattern(text string) (*pattern, error) {
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, errors.New("it is no RE2 pattern: " + shorten(err.Error()))
	}
	size := sizeOfPattern(parsed)
	if size > maxPattern {
		return nil, errTooLarge
	}
	re, err := regexp.Compile(text)
	return &pattern{re, size}, err
}

var errTooLarge = errors.New("it is too large")

// matches reports whether a text has a part that is as the pattern says.
func (m *meter) matches(p *pattern, s string) bool {
	return m.spend((1+len(s))*(1+p.size)) && p.MatchString(s)
}

// sizeOfPattern is about the number of instructions that a pattern is compiled to, at most
// a little more than maxPattern.
func sizeOfPattern(re *syntax.Regexp) int {
	n := 1 + len(re.Rune)
	for _, sub := range re.Sub {
		n += sizeOfPattern(sub)
	}
	if re.Op == syntax.OpRepeat {
		n *= max(re.Min, re.Max, 1)
	}
	return min(n, maxPattern+1)
}
