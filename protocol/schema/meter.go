package schema

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// What it may cost to hold a text to a schema: how often a value meets a schema, which also
// bounds the errors that are kept, and steps, of which a processor does some hundred
// millions in a second.
const (
	maxVisits = 100_000
	maxSteps  = 100_000_000
)

// The sizes of compiled patterns: of one, and of all patterns of a schema.
const (
	maxPattern  = 10_000
	maxPatterns = 100_000
)

// meter counts what it costs to hold a text to a schema. When it is spent, the rest of the
// work is refused step by step, and the result means nothing.
type meter struct {
	visits, steps int // that are left
	patterns      int // the size of those that were compiled
	isSpent       bool
}

func newMeter() *meter { return &meter{visits: maxVisits, steps: maxSteps} }

var errSpent = errors.New("too costly")

// spend reports whether some steps may be done.
func (m *meter) spend(steps int) bool {
	if m.steps -= steps; m.steps < 0 || steps < 0 {
		m.isSpent = true
	}
	return !m.isSpent
}

// visit is called whenever a value meets a schema, before anything that can be long.
func (m *meter) visit(w weight, v any) error {
	const perStep = 20 // of the counter
	m.visits--
	cost := w.once + len16(v) + width(v)*(1+w.each)
	if w.isDeep && !m.isSpent {
		cost += perStep * sizeOf(v) // few items are compared each with each
	}
	if m.visits < 0 || !m.spend(perStep*cost) {
		m.isSpent = true
		return errSpent
	}
	return nil
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

// len16 is the length of a string, in 16 bytes.
func len16(v any) int {
	s, _ := v.(string)
	return len(s) / 16
}

// pattern compiles a regular expression, of those that need time in proportion to the text.
func (m *meter) pattern(text string) (jsonschema.Regexp, error) {
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, errors.New("it is no RE2 pattern: " + shorten(err.Error()))
	}
	size := sizeOfPattern(parsed)
	if m.patterns += size; size > maxPattern || m.patterns > maxPatterns {
		return nil, fmt.Errorf("it is too large")
	}
	re, err := regexp.Compile(text)
	return &metered{Regexp: re, meter: m, size: size}, err
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

// metered is a pattern that counts what it costs.
type metered struct {
	*regexp.Regexp
	meter *meter
	size  int
}

func (p *metered) MatchString(s string) bool {
	return p.meter.spend((1+len(s))*(1+p.size)) && p.Regexp.MatchString(s)
}
