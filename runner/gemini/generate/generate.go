// Package generate reads what the Gemini API says of the tokens of an answer, whole or piece
// by piece. Each piece says it of all up to there.
package generate

import (
	"bytes"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/raymond-action/raymond-action/runner/tally"
	"github.com/raymond-action/raymond-action/state"
)

// Tokens is the API's own count for one answer. What is read from the cache is a part of the
// prompt; what tools of the API bring into it is not. Thoughts are not in the candidates.
type Tokens struct {
	Prompt     jsontext.Value `json:"promptTokenCount"`
	ToolUse    jsontext.Value `json:"toolUsePromptTokenCount"`
	Cached     jsontext.Value `json:"cachedContentTokenCount"`
	Candidates jsontext.Value `json:"candidatesTokenCount"`
	Thoughts   jsontext.Value `json:"thoughtsTokenCount"`
	Rest       jsontext.Value `json:",embed"`
}

// Usage is the count for an answer of a model.
func (t Tokens) Usage(model string) state.Usage {
	u := state.Usage{Model: model, Output: tally.Count(t.Candidates) + tally.Count(t.Thoughts), CacheRead: tally.Count(t.Cached), HasFees: tally.HasFees(t.Rest)}
	u.Input = max(0, tally.Count(t.Prompt)+tally.Count(t.ToolUse)-u.CacheRead)
	return u
}

// piece is a piece of an answer, or all of it, as far as it counts tokens.
type piece struct {
	ID    string  `json:"responseId"`
	Usage *Tokens `json:"usageMetadata"`
	// Candidates are what the model said. An error has none.
	Candidates jsontext.Value `json:"candidates"`
}

// Counter counts the tokens of one answer as it passes. It implements keyproxy.Counter.
type Counter struct {
	model   string
	asked   int64
	message *tally.Message
}

// NewCounter returns a counter for the answer to a request of so many bytes. The model is
// that which the request names: by that it has its price.
func NewCounter(model string, asked int64) *Counter {
	return &Counter{model: model, asked: max(asked, 1)}
}

// Message returns what was counted so far; nil before the answer has begun.
func (c *Counter) Message() *tally.Message { return c.message }

// Event takes the data of an event of a stream; of one that is too long, its beginning and
// its end.
func (c *Counter) Event(data, end []byte) {
	if end != nil {
		c.took(piece{Usage: tally.Last[Tokens](end, "usageMetadata"), Candidates: jsontext.Value("[]")})
		return
	}
	var p piece
	if json.Unmarshal(data, &p, tally.Loose) == nil {
		c.took(p)
	}
}

// Whole takes an answer that is no stream of events; of one that is too long, its beginning
// and its end. It reports false when it can't be counted.
func (c *Counter) Whole(data, end []byte) bool {
	if end != nil {
		t := tally.Last[Tokens](end, "usageMetadata")
		if t != nil {
			c.took(piece{Usage: t})
		}
		return t != nil
	}
	data = bytes.TrimSpace(data)
	if !bytes.HasPrefix(data, []byte("[")) {
		c.Event(data, nil)
		return true
	}
	var all []piece // a stream that is an array
	if json.Unmarshal(data, &all, tally.Loose) == nil {
		for _, p := range all {
			c.took(p)
		}
	}
	return true
}

func (c *Counter) took(p piece) {
	if p.Usage == nil && p.Candidates == nil {
		return
	}
	if c.message == nil {
		c.message = tally.Begun(p.ID, c.model, c.asked)
	}
	if p.Usage != nil {
		c.message.Took(p.Usage.Usage(c.model))
	}
}
