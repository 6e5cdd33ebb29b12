// Package tally counts the tokens of the model's messages as their pieces go by,
// also of a message that never ends: what it began with (input, cache) and its
// output so far. It knows no vendor: what a piece says is read by the package of the
// agent CLI that the piece is for.
package tally

import (
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/raymond-action/raymond-action/state"
)

// Message is one message of the model.
type Message struct {
	ID      string
	Usage   state.Usage
	text    int64 // bytes of its output, as long as nobody counts tokens
	counted bool  // the API has told the tokens of its output so far
}

// New returns a message that has begun, with what the API says of its tokens. One that
// is counted has ended, or its output so far is in the count: it is not estimated.
func New(id string, u state.Usage, counted bool) *Message {
	return &Message{ID: id, Usage: u, counted: counted}
}

// Took takes in what the API has counted of a message by now. What is 0 stays as it was.
func (m *Message) Took(now state.Usage) {
	for _, f := range []struct{ was, is *int64 }{
		{&m.Usage.Input, &now.Input}, {&m.Usage.Output, &now.Output},
		{&m.Usage.CacheWrite, &now.CacheWrite}, {&m.Usage.CacheRead, &now.CacheRead},
	} {
		if *f.is > 0 {
			*f.was = *f.is
		}
	}
	m.counted = true
}

// Wrote takes in how many bytes of text a piece has that counts nothing. A nil message
// has not begun, and takes nothing.
func (m *Message) Wrote(size int64) {
	if m != nil && !m.counted {
		m.text += size
	}
}

// Sum is what was counted of a model. Guess is the part of its output that was
// estimated from the text.
type Sum struct {
	state.Usage
	Guess int64
}

// mostTokens is the largest count that is believed.
const mostTokens = 1e12

// Count reads a number of tokens; anything but a credible one is 0.
func Count(raw jsontext.Value) int64 {
	n, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || !(n > 0) {
		return 0
	}
	return int64(min(n, mostTokens))
}

// Loose reads objects whatever else is in them.
var Loose = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// Sums are what was counted, by model. The zero value is empty; Add makes it.
type Sums map[string]Sum

// mostModels is how many models are told apart; what further ones used is
// counted as of the model without a name.
const mostModels = 64

// bytesPerToken is how many bytes of text are taken for a token, of an answer
// that ended before the API had counted.
const bytesPerToken = 4

// Add returns the sums with a message in them.
func (s Sums) Add(m *Message) Sums {
	if s == nil {
		s = Sums{}
	}
	name := m.Usage.Model
	if _, known := s[name]; !known && len(s) >= mostModels {
		name = ""
	}
	sum, u := s[name], m.Usage
	sum.Model = name
	if guess := (m.text+bytesPerToken-1)/bytesPerToken - u.Output; !m.counted && guess > 0 {
		u.Output += guess
		sum.Guess += guess
	}
	sum.Input += u.Input
	sum.Output += u.Output
	sum.CacheWrite += u.CacheWrite
	sum.CacheRead += u.CacheRead
	s[name] = sum
	return s
}

// With returns the sums in order of the models' names, with the messages that
// have not ended.
func (s Sums) With(open iter.Seq[*Message]) []Sum {
	all := maps.Clone(s)
	for m := range open {
		all = all.Add(m)
	}
	return slices.SortedFunc(maps.Values(all), func(a, b Sum) int { return strings.Compare(a.Model, b.Model) })
}

// Usage is what was counted without the guesses' own count.
func Usage(list []Sum) []state.Usage {
	out := make([]state.Usage, 0, len(list))
	for _, s := range list {
		out = append(out, s.Usage)
	}
	return out
}
