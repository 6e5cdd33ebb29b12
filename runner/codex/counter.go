// counter reads what the Responses API says of the tokens of an answer, whole or
// piece by piece. It says so once, at the end.

package codex

import (
	"bytes"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/raymond-action/raymond-action/runner/tally"
	"github.com/raymond-action/raymond-action/state"
)

// apiTokens is the API's own count for one answer. What is read from the cache, or written to
// it, is a part of the input.
type apiTokens struct {
	Input   jsontext.Value `json:"input_tokens"`
	Output  jsontext.Value `json:"output_tokens"`
	Details struct {
		Cached  jsontext.Value `json:"cached_tokens"`
		Written jsontext.Value `json:"cache_write_tokens"`
	} `json:"input_tokens_details"`
	Rest jsontext.Value `json:",embed"`
}

// Usage is the count for an answer of a model.
func (t apiTokens) Usage(model string) state.Usage {
	u := state.Usage{
		Model: model, Output: tally.Count(t.Output),
		CacheRead: tally.Count(t.Details.Cached), CacheWrite: tally.Count(t.Details.Written),
		HasFees: tally.HasFees(t.Rest),
	}
	u.Input = max(0, tally.Count(t.Input)-u.CacheRead-u.CacheWrite)
	return u
}

// response is an answer, as far as it counts tokens.
type response struct {
	ID     string     `json:"id"`
	Object string     `json:"object"`
	Usage  *apiTokens `json:"usage"`
}

// event is a piece of an answer.
type event struct {
	Type     string   `json:"type"`
	Response response `json:"response"`
}

// counter counts the tokens of one answer as it passes. It implements keyproxy.Counter.
type counter struct{ tally.Answer }

var (
	usageKey = []byte(`"usage"`)
	created  = []byte(`"response.created"`)
	deltaKey = []byte(`"delta":"`)
)

// Event takes the data of an event of a stream. The last one repeats the request.
func (c *counter) Event(data []byte) {
	if !bytes.Contains(data, usageKey) && !bytes.Contains(data, created) {
		c.Message().Wrote(textSize(data))
		return
	}
	var e event
	if json.Unmarshal(data, &e, tally.Loose) != nil {
		return
	}
	c.Begin(e.Response.ID)
	if e.Response.Usage == nil && e.Type == "response.failed" {
		e.Response.Usage = &apiTokens{} // nothing is asked for it
	}
	c.took(e.Response.Usage)
}

// Whole takes an answer that is no stream.
func (c *counter) Whole(data []byte) {
	var r response
	if json.Unmarshal(data, &r, tally.Loose) == nil && r.Object == "response" {
		c.Begin(r.ID)
		c.took(r.Usage)
	}
}

func (c *counter) took(t *apiTokens) {
	if t != nil {
		c.Message().Took(t.Usage(c.Model))
	}
}

// textSize is about how many bytes of an event the model wrote.
func textSize(data []byte) int64 {
	_, text, ok := bytes.Cut(data, deltaKey)
	if !ok {
		return 0
	}
	return int64(max(bytes.IndexByte(text, '"'), 0))
}
