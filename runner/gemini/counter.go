// counter reads what the Gemini API says of the tokens of an answer, whole or piece
// by piece. Each piece says it of counted up to there.

package gemini

import (
	"bytes"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/raymond-action/raymond-action/runner/tally"
	"github.com/raymond-action/raymond-action/state"
)

// apiTokens is the API's own count for one answer. What is read from the cache is a part of the
// prompt; what tools of the API bring into it is not. Thoughts are not in the candidates.
type apiTokens struct {
	Prompt     jsontext.Value `json:"promptTokenCount"`
	ToolUse    jsontext.Value `json:"toolUsePromptTokenCount"`
	Cached     jsontext.Value `json:"cachedContentTokenCount"`
	Candidates jsontext.Value `json:"candidatesTokenCount"`
	Thoughts   jsontext.Value `json:"thoughtsTokenCount"`
	Rest       jsontext.Value `json:",embed"`
}

// Usage is the count for an answer of a model.
func (t apiTokens) Usage(model string) state.Usage {
	u := state.Usage{Model: model, Output: tally.Count(t.Candidates) + tally.Count(t.Thoughts), CacheRead: tally.Count(t.Cached), HasFees: tally.HasFees(t.Rest)}
	u.Input = max(0, tally.Count(t.Prompt)+tally.Count(t.ToolUse)-u.CacheRead)
	return u
}

// piece is a piece of an answer, or counted of it, as far as it counts tokens.
type piece struct {
	ID    string     `json:"responseId"`
	Usage *apiTokens `json:"usageMetadata"`
	// Candidates are what the model said. An error has none.
	Candidates jsontext.Value `json:"candidates"`
}

// counter counts the tokens of one answer as it passes. It implements keyproxy.Counter.
type counter struct{ tally.Answer }

// Event takes the data of an event of a stream.
func (c *counter) Event(data []byte) {
	var p piece
	if json.Unmarshal(data, &p, tally.Loose) == nil {
		c.took(p)
	}
}

// Whole takes an answer that is no stream of events.
func (c *counter) Whole(data []byte) {
	data = bytes.TrimSpace(data)
	if !bytes.HasPrefix(data, []byte("[")) {
		c.Event(data)
		return
	}
	var counted []piece // a stream that is an array
	if json.Unmarshal(data, &counted, tally.Loose) == nil {
		for _, p := range counted {
			c.took(p)
		}
	}
}

func (c *counter) took(p piece) {
	if p.Usage == nil && p.Candidates == nil {
		return
	}
	c.Begin(p.ID)
	if p.Usage != nil {
		c.Message().Took(p.Usage.Usage(c.Model))
	}
}
