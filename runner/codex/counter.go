// counter reads what the Responses API says of the tokens of an answer, whole or
// piece by piece. It says so once, at the end.

package codex

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/raymond-action/raymond-action/internal/untrusted/jsonstrict"
	"github.com/raymond-action/raymond-action/runner/keyproxy"
)

// ofAPI is how the API counts for one answer. What is read from the cache, or written to
// it, is a part of the input.
var ofAPI = keyproxy.Layout{
	Input: []string{"input_tokens"}, Output: []string{"output_tokens"},
	CacheRead: "input_tokens_details.cached_tokens", CacheWrite: "input_tokens_details.cache_write_tokens", InputIncludesCache: true, Free: []string{"total_tokens"},
}

// response is an answer, as far as it counts tokens.
type response struct {
	Object string         `json:"object"`
	Usage  jsontext.Value `json:"usage"`
}

// event is a piece of an answer.
type event struct {
	Type     string   `json:"type"`
	Response response `json:"response"`
}

// counter counts the tokens of one answer as it passes. It implements keyproxy.Counter.
type counter struct{ keyproxy.FinalCounter }

// Event takes the data of an event of a stream. The last one repeats the request.
func (c *counter) Event(data []byte) {
	var e event
	if json.Unmarshal(data, &e, jsonstrict.Loose) != nil {
		return
	}
	isFree := e.Type == "response.failed" || e.Type == "error" && c.Message() == nil
	if e.Type == "response.created" || e.Response.Usage != nil || isFree {
		c.Update(e.Response.Usage, isFree)
	}
}

// Whole takes an answer that is no stream.
func (c *counter) Whole(data []byte) {
	var r response
	if json.Unmarshal(data, &r, jsonstrict.Loose) == nil && r.Object == "response" {
		c.Update(r.Usage, false)
	}
}
