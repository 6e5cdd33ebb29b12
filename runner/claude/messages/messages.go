// Package messages reads what the Messages API says of the tokens of an answer, whole
// or piece by piece.
package messages

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/raymond-action/raymond-action/runner/tally"
	"github.com/raymond-action/raymond-action/state"
)

// Tokens is the API's own count for one message. The fields are kept as they are:
// what is wrong in them must not cost the record.
type Tokens struct {
	Input      jsontext.Value `json:"input_tokens"`
	Output     jsontext.Value `json:"output_tokens"`
	CacheWrite jsontext.Value `json:"cache_creation_input_tokens"`
	CacheRead  jsontext.Value `json:"cache_read_input_tokens"`
	Cache      jsontext.Value `json:"cache_creation"` // how long it keeps what was written
	Rest       jsontext.Value `json:",embed"`
}

// searches counts web searches, each of which costs a cent, by the vendor's list of prices of
// 2026-11-22: https://platform.claude.com/docs/en/about-claude/pricing.
const (
	searches     = "web_search_requests"
	search       = state.Dollar / 100
	mostSearches = 1_000_000 // that are believed
)

// Usage is the count for a message of a model.
func (t Tokens) Usage(model string) state.Usage {
	u := state.Usage{
		Model: Bare(model), Input: tally.Count(t.Input), Output: tally.Count(t.Output),
		CacheWrite: tally.Count(t.CacheWrite), CacheRead: tally.Count(t.CacheRead),
	}
	u.CacheHour = min(u.CacheWrite, tally.In(t.Cache, "ephemeral_1h_input_tokens"))
	if len(t.Rest) > 0 {
		u.HasFees = tally.HasFees(t.Rest, searches, "web_fetch_requests", "tool_search_requests") // these cost their tokens
		u.Surcharge = state.USD(min(tally.In(t.Rest, "server_tool_use", searches), mostSearches)) * search
	}
	return u
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
func (a Answer) Message(whole bool) *tally.Message {
	return tally.New(a.ID, a.Usage.Usage(a.Model), whole)
}

// Event is a piece of an answer as the API sends it, as far as it counts tokens.
type Event struct {
	Type    string `json:"type"`
	Message Answer `json:"message"`
	Usage   Tokens `json:"usage"`
}

// usageKey is in every piece that counts tokens. It can't be within a string,
// where the quotes are escaped.
var usageKey = []byte(`"usage"`)

// Counts says whether a piece may count tokens. There may be hundreds of pieces a
// second, of which only a few do.
func Counts(piece []byte) bool { return bytes.Contains(piece, usageKey) }

// textKeys are the names of what a model wrote, in a piece of an answer.
var textKeys = [][]byte{[]byte(`"text":"`), []byte(`"thinking":"`), []byte(`"partial_json":"`)}

// TextSize is about how many bytes of a piece the model wrote.
func TextSize(piece []byte) int64 {
	for _, key := range textKeys {
		if _, text, ok := bytes.Cut(piece, key); ok {
			end := bytes.Index(text, []byte(`"}`))
			return int64(max(end, 0))
		}
	}
	return 0
}

// Counter counts the tokens of one answer as it passes. It implements
// keyproxy.Counter.
type Counter struct{ message *tally.Message }

// Message returns what was counted so far; nil before the answer has begun.
func (c *Counter) Message() *tally.Message { return c.message }

// Event takes the data of an event of a stream.
func (c *Counter) Event(data []byte) {
	if !Counts(data) {
		c.message.Wrote(TextSize(data))
		return
	}
	var e Event
	if json.Unmarshal(data, &e, tally.Loose) != nil {
		return
	}
	switch {
	case e.Type == "message_start" && c.message == nil:
		c.message = e.Message.Message(false)
	case e.Type == "message_delta" && c.message != nil:
		c.message.Took(e.Usage.Usage(""))
	}
}

// Whole takes an answer that is no stream.
func (c *Counter) Whole(data []byte) {
	var a Answer
	if json.Unmarshal(data, &a, tally.Loose) == nil && a.Type == "message" {
		c.message = a.Message(true)
	}
}
