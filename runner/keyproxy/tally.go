package keyproxy

import (
	"bytes"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/raymond-action/raymond-action/internal/untrusted/jsonstrict"
	"github.com/raymond-action/raymond-action/state"
)

// Message is one message of the model.
type Message struct {
	ID      string
	Usage   state.Usage
	text    int64 // bytes of its output, as long as nobody counts tokens
	begun   bool  // the API has counted at least the tokens of the input
	counted bool  // the API has told the tokens of its output so far

	reserved state.USD // the cost that is booked for what the API has not counted
}

// NewMessage returns a message that has begun, with what the API says of its tokens. One that
// is counted has ended, or its output so far is in the count: it is not estimated.
func NewMessage(id string, u state.Usage, counted bool) *Message {
	return &Message{ID: id, Usage: u, begun: true, counted: counted}
}

// FinalCounter is one answer of an API that counts all tokens at the end. The model is the one that
// the request names: by that it has its price.
type FinalCounter struct {
	Model   string
	Layout  Layout // of what the API says of tokens
	message *Message
}

// Message returns what was counted so far; nil before the answer has begun.
func (a *FinalCounter) Message() *Message { return a.message }

// Update adds the token counts in a piece of an answer. A piece without counts costs nothing if isFree is true;
// otherwise the answer has begun.
func (a *FinalCounter) Update(record jsontext.Value, isFree bool) {
	if a.message == nil {
		a.message = &Message{Usage: state.Usage{Model: a.Model}}
	}
	if isFree || record.Kind() == '{' {
		u := a.Layout.Usage(record, a.Model)
		u.HasFees = a.Layout.HasFees(record)
		a.message.Update(u)
	}
}

// Update takes in what the API has counted of a message by now. What is 0 stays as it was.
func (m *Message) Update(now state.Usage) {
	for _, f := range []struct{ was, is *int64 }{
		{&m.Usage.Input, &now.Input}, {&m.Usage.Output, &now.Output},
		{&m.Usage.CacheWrite, &now.CacheWrite}, {&m.Usage.CacheHour, &now.CacheHour}, {&m.Usage.CacheRead, &now.CacheRead},
	} {
		if *f.is > 0 {
			*f.was = *f.is
		}
	}
	m.Usage.Surcharge, m.Usage.HasFees = max(m.Usage.Surcharge, now.Surcharge), m.Usage.HasFees || now.HasFees
	m.begun, m.counted = true, true
}

// AddText takes in how many bytes of text a piece has that counts nothing. A nil message
// has not begun, and takes nothing.
func (m *Message) AddText(size int64) {
	if m != nil && !m.counted {
		m.text += size
	}
}

// Sum is what was counted of a model. Guess is the part of its output that was
// estimated from the text, and Reserved the part of its surcharge that is booked for
// answers of which the API has not counted everything.
type Sum struct {
	state.Usage
	Guess    int64
	Reserved state.USD
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

// Layout says by which names a record has counts of tokens, each as in "input_tokens_details.cached_tokens"; "" for none.
type Layout struct {
	Input, Output                    []string // of which the sum counts
	CacheWrite, CacheHour, CacheRead string
	InputIncludesCache               bool     // the tokens of the cache are a part of the input
	Free                             []string // other known counters, which cost nothing or are priced elsewhere
}

// Usage returns the counts of a record as those of a model. What is no credible number is 0.
func (l Layout) Usage(record jsontext.Value, model string) state.Usage {
	sum := func(names ...string) (n int64) {
		for _, name := range names {
			n += CountAt(record, strings.Split(name, ".")...)
		}
		return n
	}
	u := state.Usage{Model: model, Input: sum(l.Input...), Output: sum(l.Output...), CacheWrite: sum(l.CacheWrite), CacheRead: sum(l.CacheRead)}
	u.CacheHour = min(u.CacheWrite, sum(l.CacheHour))
	if l.InputIncludesCache {
		u.Input = max(0, u.Input-u.CacheRead-u.CacheWrite)
	}
	return u
}

// CountAt is the count to which names lead in a record; 0 when there is none.
func CountAt(record jsontext.Value, names ...string) int64 {
	for _, name := range names {
		var all map[string]jsontext.Value
		if json.Unmarshal(record, &all, jsonstrict.Loose) != nil {
			return 0
		}
		record = all[name]
	}
	return Count(record)
}

// HasFees reports whether a record counts something that the layout doesn't name, whose price is unknown.
// The parts of a known counter, and details of any counter, add no cost.
func (l Layout) HasFees(usage jsontext.Value) bool {
	durations, _, _ := strings.Cut(l.CacheHour, ".")
	known := slices.Concat(l.Input, l.Output, l.Free, []string{l.CacheWrite, l.CacheRead, durations})
	isKnown := func(name string) bool {
		return slices.Contains(known, name) || strings.HasSuffix(strings.ToLower(name), "details")
	}
	d := jsontext.NewDecoder(bytes.NewReader(usage), jsonstrict.Loose)
	for {
		t, err := d.ReadToken()
		if err != nil {
			return false
		}
		at := slices.Collect(d.StackPointer().Tokens())
		if t.Kind() == '0' && strings.Trim(t.String(), "-0.") != "" && !slices.ContainsFunc(at, isKnown) {
			return true
		}
	}
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
	sum.Reserved, u.Surcharge = sum.Reserved.Plus(m.reserved), u.Surcharge.Plus(m.reserved)
	if u == (state.Usage{Model: u.Model}) {
		return s
	}
	sum.Usage = sum.Plus(u)
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

// UsageOf is what was counted without the guesses' own count.
func UsageOf(list []Sum) []state.Usage {
	out := make([]state.Usage, 0, len(list))
	for _, s := range list {
		out = append(out, s.Usage)
	}
	return out
}

// Beyond returns what was counted beyond the tokens that a CLI has told, model by model. An output that was only estimated is not held
// against the CLI's own count. A CLI that reports only a sum in dollars may have included any of the tokens, but not what is
// reserved.
func Beyond(counted []Sum, told []state.ModelCost, isSum bool) (list []state.Usage) {
	for _, s := range counted {
		u := s.Usage
		u.Surcharge -= s.Reserved
		for _, t := range told {
			if state.SameModel(s.Model, t.Model) {
				u = u.Minus(t.Usage)
			}
		}
		if u.Input == 0 && u.CacheWrite == 0 && u.CacheRead == 0 {
			u.Output = max(0, u.Output-s.Guess)
		}
		if isSum {
			u = state.Usage{Model: s.Model}
		}
		u.Surcharge = u.Surcharge.Plus(s.Reserved)
		if u != (state.Usage{Model: u.Model}) {
			list = append(list, u)
		}
	}
	return list
}
