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

// Message contains the token counts of one message of the model.
type Message struct {
	ID    string
	Usage state.Usage
	// textBytes is the size of the output's text. It is counted until the API reports the output's tokens.
	textBytes int64
	hasInput  bool // the API has reported at least the input's count
	isCounted bool // the API has reported the output's count so far

	// reserved is the amount that is recorded as the cost of usage that the API has not counted.
	reserved state.USD
}

// NewMessage returns a message that has begun, with the API's counts so far. counted is true if u includes
// the output's tokens. Otherwise they are estimated from the text until Update reports them.
func NewMessage(id string, u state.Usage, counted bool) *Message {
	return &Message{ID: id, Usage: u, hasInput: true, isCounted: counted}
}

// FinalCounter counts the tokens of a response of an API that reports them at the end. The tokens belong to
// the model that the request named, because that model determines the price.
type FinalCounter struct {
	Model   string
	Layout  Layout // how the API names its token counts
	message *Message
}

// Message returns the counts so far. It returns nil before the response has begun.
func (a *FinalCounter) Message() *Message { return a.message }

// Update copies the token counts from a part of a response into the message. If the part contains no
// counts and isFree is false, Update only marks the response as begun. If isFree is true, a part without
// counts costs nothing.
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

// Update replaces the message's counts with the API's current counts. A current count of 0 leaves the
// previous one unchanged.
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

// AddText adds the size in bytes of a piece of the output's text. It does nothing if the API has counted
// the output already, or if m is nil because the message has not begun.
func (m *Message) AddText(size int64) {
	if m != nil && !m.isCounted {
		m.textBytes += size
	}
}

// Sum contains the counts of one model. Guess is the number of output tokens that were estimated from the
// text. Reserved is an amount that was recorded for usage that the API did not count. It is included in
// Usage.Surcharge.
type Sum struct {
	state.Usage
	Guess    int64
	Reserved state.USD
}

// maxTokens is the largest count that Count returns. Larger numbers are replaced with it.
const maxTokens = 1e12

// Count parses a number of tokens. It returns 0 if raw is not a positive number, and at most maxTokens.
func Count(raw jsontext.Value) int64 {
	n, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || !(n > 0) {
		return 0
	}
	return int64(min(n, maxTokens))
}

// Layout contains the names of the token counters in an API's record. Each name is a path like
// "input_tokens_details.cached_tokens". It is empty if the API has no such counter.
type Layout struct {
	Input, Output                    []string // the values of the counters are added up
	CacheWrite, CacheHour, CacheRead string
	InputIncludesCache               bool     // Input includes the tokens that were read from or written to the cache
	Free                             []string // other known counters, which cost nothing or are priced separately
}

// Usage returns the counts in a record as the usage of a model. A counter that is missing or invalid is 0.
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

// CountAt returns the count at a path in a record. It returns 0 if the path doesn't exist.
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

// HasFees reports whether a record contains a counter that is not 0 and that the layout doesn't name. The
// price of such a counter is unknown. Counters inside a known counter, or inside details of any counter,
// are ignored, because they add no cost.
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

// Sums maps the names of models to their counts. A nil map contains nothing; Add allocates the map.
type Sums map[string]Sum

// maxModels limits how many models are counted separately. Further models are counted under the name "".
const maxModels = 64

// bytesPerToken is the assumed number of bytes of text per token. It is used for a message that ended
// before the API reported its output's count.
const bytesPerToken = 4

// Add adds the counts of a message and returns the map. If s is nil, it returns a new map.
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

// With returns the sums plus the counts of the given messages, sorted by the models' names. It doesn't
// change s.
func (s Sums) With(open iter.Seq[*Message]) []Sum {
	all := maps.Clone(s)
	for m := range open {
		all = all.Add(m)
	}
	return slices.SortedFunc(maps.Values(all), func(a, b Sum) int { return strings.Compare(a.Model, b.Model) })
}

// UsageOf returns the usage in each sum, without Guess and Reserved.
func UsageOf(list []Sum) []state.Usage {
	out := make([]state.Usage, 0, len(list))
	for _, s := range list {
		out = append(out, s.Usage)
	}
	return out
}

// Beyond returns, by model, how much of the counted usage a CLI did not report. If only the output exceeds
// the reported usage, tokens that were estimated don't count as excess. If isSum is true, the CLI
// reported only a total cost. That cost may include all tokens, so Beyond returns only the reserved amounts.
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
