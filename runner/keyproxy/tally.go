package keyproxy

import (
	"bytes"
	"iter"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/raymond-action/raymond-action/internal/untrusted/jsonstrict"
	"github.com/raymond-action/raymond-action/state"
)

// Message is one message of the model.
type Message struct {
	ID      string
	Usage   state.Usage
	asked   int64 // bytes of the request, where its tokens are told at the end
	text    int64 // bytes of its output, as long as nobody counts tokens
	counted bool  // the API has told the tokens of its output so far
}

// NewMessage returns a message that has begun, with what the API says of its tokens. One that
// is counted has ended, or its output so far is in the count: it is not estimated.
func NewMessage(id string, u state.Usage, counted bool) *Message {
	return &Message{ID: id, Usage: u, counted: counted}
}

// Begun returns a message that has begun, of a model whose API tells all tokens at the end.
// Until then those of the input are estimated from the size of the request in bytes.
func Begun(model string, asked int64) *Message {
	return &Message{Usage: state.Usage{Model: model}, asked: asked}
}

// Answer is one answer of such an API to a request of so many bytes. The model is that which
// the request names: by that it has its price.
type Answer struct {
	Model   string
	Asked   int64
	Layout  Layout // of what the API says of tokens
	message *Message
}

// Message returns what was counted so far; nil before the answer has begun.
func (a *Answer) Message() *Message { return a.message }

// Begin begins the message, unless it has begun.
func (a *Answer) Begin() {
	if a.message == nil {
		a.message = Begun(a.Model, max(a.Asked, 1))
	}
}

// Took takes in what the API says of the tokens of an answer that has begun. Counts that are no tokens are fees.
func (a *Answer) Took(record jsontext.Value) {
	u := a.Layout.Usage(record, a.Model)
	u.HasFees = HasFees(record)
	a.message.Took(u)
}

// Unended returns a message, nil for one that has not begun, as one of which nobody will learn what it
// used: at most so much.
func Unended(m *Message, most state.Usage) *Message {
	if m == nil {
		m = Begun(most.Model, max(1, most.Input*bytesPerToken))
	}
	if m.asked > 0 {
		m.asked = max(m.asked, most.Input*bytesPerToken)
	}
	m.text = max(m.text, most.Output*bytesPerToken)
	m.Usage.Surcharge = most.Surcharge
	return m
}

// IsBlind reports whether the API has told nothing of its tokens yet.
func (m *Message) IsBlind() bool { return m.asked > 0 && !m.counted }

// Took takes in what the API has counted of a message by now. What is 0 stays as it was.
func (m *Message) Took(now state.Usage) {
	for _, f := range []struct{ was, is *int64 }{
		{&m.Usage.Input, &now.Input}, {&m.Usage.Output, &now.Output},
		{&m.Usage.CacheWrite, &now.CacheWrite}, {&m.Usage.CacheHour, &now.CacheHour}, {&m.Usage.CacheRead, &now.CacheRead},
	} {
		if *f.is > 0 {
			*f.was = *f.is
		}
	}
	m.Usage.Surcharge, m.Usage.HasFees = max(m.Usage.Surcharge, now.Surcharge), m.Usage.HasFees || now.HasFees
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
// estimated from the text, and Asked that of its input from the request.
type Sum struct {
	state.Usage
	Guess, Asked int64
}

// Told is the part of the sum that the API itself has counted.
func (s Sum) Told() state.Usage {
	u := s.Usage
	u.Input, u.Output = max(0, u.Input-s.Asked), max(0, u.Output-s.Guess)
	return u
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
	IsWithin                         bool // those of the cache are a part of the input
}

// Usage returns the counts of a record as those of a model. What is no credible number is 0.
func (l Layout) Usage(record jsontext.Value, model string) state.Usage {
	sum := func(names ...string) (n int64) {
		for _, name := range names {
			n += In(record, strings.Split(name, ".")...)
		}
		return n
	}
	u := state.Usage{Model: model, Input: sum(l.Input...), Output: sum(l.Output...), CacheWrite: sum(l.CacheWrite), CacheRead: sum(l.CacheRead)}
	u.CacheHour = min(u.CacheWrite, sum(l.CacheHour))
	if l.IsWithin {
		u.Input = max(0, u.Input-u.CacheRead-u.CacheWrite)
	}
	return u
}

// In is the count to which names lead in a record; 0 when there is none.
func In(record jsontext.Value, names ...string) int64 {
	for _, name := range names {
		var all map[string]jsontext.Value
		if json.Unmarshal(record, &all, jsonstrict.Loose) != nil {
			return 0
		}
		record = all[name]
	}
	return Count(record)
}

// ofFees finds the names of what is no token and may cost something, in a record of usage.
var ofFees = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`/server_tool_use/|(?i:requests|calls|searches|sessions)$`)
})

// HasFees reports whether a part of a record of usage counts something that is no token, as the
// calls of a tool, other than what is named.
func HasFees(usage jsontext.Value, known ...string) bool {
	d := jsontext.NewDecoder(bytes.NewReader(usage), jsonstrict.Loose)
	for {
		t, err := d.ReadToken()
		if err != nil {
			return false
		}
		at := d.StackPointer()
		if t.Kind() == '0' && t.String() != "0" && ofFees().MatchString(string(at)) && !slices.Contains(known, at.LastToken()) {
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
	if m.IsBlind() {
		guess := (m.asked + bytesPerToken - 1) / bytesPerToken
		u.Input += guess
		sum.Asked += guess
	}
	if guess := (m.text+bytesPerToken-1)/bytesPerToken - u.Output; !m.counted && guess > 0 {
		u.Output += guess
		sum.Guess += guess
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

// Usage is what was counted without the guesses' own count.
func Usage(list []Sum) []state.Usage {
	out := make([]state.Usage, 0, len(list))
	for _, s := range list {
		out = append(out, s.Usage)
	}
	return out
}

// Beyond returns what was counted beyond the tokens that a CLI has told, model by model. An output that was only estimated is not held
// against the CLI's own count.
func Beyond(counted []Sum, told []state.ModelCost) (list []state.Usage) {
	for _, s := range counted {
		u := s.Usage
		for _, t := range told {
			if state.SameModel(s.Model, t.Model) {
				u = u.Less(t.Usage)
			}
		}
		if u.Input == 0 && u.CacheWrite == 0 && u.CacheRead == 0 {
			u.Output = max(0, u.Output-s.Guess)
		}
		if u != (state.Usage{Model: u.Model}) {
			list = append(list, u)
		}
	}
	return list
}
