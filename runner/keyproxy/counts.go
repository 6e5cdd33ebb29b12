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

// Message is one message of the model, with its token counts.
type Message struct {
	ID        string
	Usage     state.Usage
	textBytes int64 // bytes of the output's text, while the API has not counted tokens
	hasInput  bool  // the API has counted at least the input
	isCounted bool  // the API has counted the output so far

	reserved state.USD // the amount that is recorded for usage that the API has not counted
}

// NewMessage returns a message that has begun, with the API's counts so far. counted is true if u
// includes the output, so that it is not estimated from the text.
func NewMessage(id string, u state.Usage, counted bool) *Message {
	return &Message{ID: id, Usage: u, hasInput: true, isCounted: counted}
}

// FinalCounter holds the counts of a response of an API that reports them at the end. The model is the
// one in the request, because that determines the price.
type FinalCounter struct {
	Model   string
	Layout  Layout // of the API's token counts
	message *Message
}

// Message returns the counts so far; nil before the response has begun.
func (a *FinalCounter) Message() *Message { return a.message }

// Update takes over the token counts in a part of a response. If isFree is true, a part without counts
// costs nothing; otherwise it only marks the beginning of the response.
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

// Update takes over the API's current counts of a message. A count of 0 leaves the previous one unchanged.
func (m *Message) Update(now state.Usage) {
	for _, f := range []struct{ old, current *int64 }{
		{&m.Usage.Input, &now.Input}, {&m.Usage.Output, &now.Output},
		{&m.Usage.CacheWrite, &now.CacheWrite}, {&m.Usage.CacheHour, &now.CacheHour}, {&m.Usage.CacheRead, &now.CacheRead},
	} {
		if *f.current > 0 {
			*f.old = *f.current
		}
	}
	m.Usage.Surcharge, m.Usage.HasFees = max(m.Usage.Surcharge, now.Surcharge), m.Usage.HasFees || now.HasFees
	m.hasInput, m.isCounted = true, true
}

// AddText adds the size in bytes of a part of the text that comes without counts. It does nothing for a
// nil message, which has not begun.
func (m *Message) AddText(size int64) {
	if m != nil && !m.isCounted {
		m.textBytes += size
	}
}

// Sum contains the counts of one model. Guess is the part of the output that was estimated from the
// text. Reserved is the part of the surcharge that is recorded for responses for which the API has not
// counted everything.
type Sum struct {
	state.Usage
	Guess    int64
	Reserved state.USD
}

// maxTokens is the largest credible count.
const maxTokens = 1e12

// Count parses a number of tokens. Anything but a credible number is 0.
func Count(raw jsontext.Value) int64 {
	n, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || !(n > 0) {
		return 0
	}
	return int64(min(n, maxTokens))
}

// Layout contains the names of the counters in a record, each as a path like
// "input_tokens_details.cached_tokens"; "" for none.
type Layout struct {
	Input, Output                    []string // the counters are added up
	CacheWrite, CacheHour, CacheRead string
	InputIncludesCache               bool     // Input includes the tokens of the cache
	Free                             []string // other known counters, which are free or have a separate price
}

// Usage returns the counts in a record as the usage of a model. Anything but a credible number is 0.
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

// CountAt returns the count at a path in a record; 0 if the path doesn't exist.
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

// HasFees reports whether a record has a counter that the layout doesn't name, so that its price is
// unknown. Parts of a known counter and details of any counter add no cost.
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

// Sums are counts by model. The zero value is empty; Add allocates the map.
type Sums map[string]Sum

// maxModels bounds the models that are counted separately. Further models are counted under the name "".
const maxModels = 64

// bytesPerToken is how many bytes of text count as one token in a message that ended before the API
// counted it.
const bytesPerToken = 4

// Add returns the sums including a message.
func (s Sums) Add(m *Message) Sums {
	if s == nil {
		s = Sums{}
	}
	name := m.Usage.Model
	if _, known := s[name]; !known && len(s) >= maxModels {
		name = ""
	}
	sum, u := s[name], m.Usage
	sum.Model = name
	if guess := (m.textBytes+bytesPerToken-1)/bytesPerToken - u.Output; !m.isCounted && guess > 0 {
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

// With returns the sums including messages that have not ended, in the order of the models' names.
func (s Sums) With(open iter.Seq[*Message]) []Sum {
	all := maps.Clone(s)
	for m := range open {
		all = all.Add(m)
	}
	return slices.SortedFunc(maps.Values(all), func(a, b Sum) int { return strings.Compare(a.Model, b.Model) })
}

// UsageOf returns the counts of sums, without Guess and Reserved.
func UsageOf(list []Sum) []state.Usage {
	out := make([]state.Usage, 0, len(list))
	for _, s := range list {
		out = append(out, s.Usage)
	}
	return out
}

// Beyond returns, by model, the counted usage in excess of the usage that a CLI reported. Estimated
// output alone is not considered an excess. A CLI that reported only a sum of dollars (isSum) may have
// included all tokens, but not the reserved amounts.
func Beyond(counted []Sum, reported []state.ModelCost, isSum bool) (list []state.Usage) {
	for _, s := range counted {
		u := s.Usage
		u.Surcharge -= s.Reserved
		for _, t := range reported {
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
