// Package tally counts the tokens of the model's messages as their pieces go by,
// also of a message that never ends: what it began with (input, cache) and its
// output so far. It knows how the Messages API tells usage, and nothing of who
// passes the pieces on.
package tally

import (
	"bytes"
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

// Sum is what was counted of a model. Guess is the part of its output that was
// estimated from the text.
type Sum struct {
	state.Usage
	Guess int64
}

// Tokens is the API's own count for one message. The fields are kept as they are:
// what is wrong in them must not cost the record.
type Tokens struct {
	Input      jsontext.Value `json:"input_tokens"`
	Output     jsontext.Value `json:"output_tokens"`
	CacheWrite jsontext.Value `json:"cache_creation_input_tokens"`
	CacheRead  jsontext.Value `json:"cache_read_input_tokens"`
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

// Usage is the count for a message of a model.
func (t Tokens) Usage(model string) state.Usage {
	return state.Usage{
		Model: Bare(model), Input: Count(t.Input), Output: Count(t.Output),
		CacheWrite: Count(t.CacheWrite), CacheRead: Count(t.CacheRead),
	}
}

// Bare cuts the variant off a model's name, as in "opus[1m]".
func Bare(model string) string {
	name, _, _ := strings.Cut(model, "[")
	return name
}

// Answer is a whole message as the API tells it, as far as it counts tokens.
type Answer struct {
	ID    string `json:"id"`
	Type  string `json:"type"`
	Model string `json:"model"`
	Usage Tokens `json:"usage"`
}

// Message is the answer as one that has ended, or that has just begun.
func (a Answer) Message(whole bool) *Message {
	return &Message{ID: a.ID, Usage: a.Usage.Usage(a.Model), counted: whole}
}

// Event is a piece of an answer as the API sends it, as far as it counts tokens.
type Event struct {
	Type    string `json:"type"`
	Message Answer `json:"message"`
	Usage   Tokens `json:"usage"`
}

// Loose reads objects whatever else is in them.
var Loose = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// usageKey is in every piece that counts tokens. It can't be within a string,
// where the quotes are escaped.
var usageKey = []byte(`"usage"`)

// Counts says whether a piece may count tokens. There may be hundreds of pieces a
// second, of which only a few do.
func Counts(piece []byte) bool { return bytes.Contains(piece, usageKey) }

// Took takes in what the API has counted of a message by now.
func (m *Message) Took(t Tokens) {
	now := t.Usage(m.Usage.Model)
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

// Wrote takes in a piece that counts nothing.
func (m *Message) Wrote(piece []byte) {
	if m != nil && !m.counted {
		m.text += textSize(piece)
	}
}

// textKeys are the names of what a model wrote, in a piece of an answer.
var textKeys = [][]byte{[]byte(`"text":"`), []byte(`"thinking":"`), []byte(`"partial_json":"`)}

// textSize is about how many bytes of a piece the model wrote.
func textSize(piece []byte) int64 {
	for _, key := range textKeys {
		if _, text, ok := bytes.Cut(piece, key); ok {
			end := bytes.Index(text, []byte(`"}`))
			return int64(max(end, 0))
		}
	}
	return 0
}

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
