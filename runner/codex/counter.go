// counter reads the token counts in responses of the Responses API, both complete and streamed
// ones. The API sends the counts once, at the end of a response.

package codex

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/raymond-action/raymond-action/internal/untrusted/jsonstrict"
	"github.com/raymond-action/raymond-action/runner/keyproxy"
)

// apiLayout describes how the API counts the tokens of a response. The input includes the tokens
// that were read from the cache or written to it.
var apiLayout = keyproxy.Layout{
	Input: []string{"input_tokens"}, Output: []string{"output_tokens"},
	CacheRead: "input_tokens_details.cached_tokens", CacheWrite: "input_tokens_details.cache_write_tokens", InputIncludesCache: true, Free: []string{"total_tokens"},
}

// response is a response of the API, reduced to the fields needed to count tokens.
type response struct {
	Object string         `json:"object"`
	Usage  jsontext.Value `json:"usage"`
}

// event is a server-sent event in a streamed response.
type event struct {
	Type     string   `json:"type"`
	Response response `json:"response"`
}

// counter counts the tokens of one response while the key proxy forwards it. It implements
// keyproxy.Counter.
type counter struct{ keyproxy.FinalCounter }

// Event reads the data of a server-sent event. Besides the events that contain token counts, it
// handles events for the start and the failure of a response.
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

// Whole reads a response that is not streamed.
func (c *counter) Whole(data []byte) {
	var r response
	if json.Unmarshal(data, &r, jsonstrict.Loose) == nil && r.Object == "response" {
		c.Update(r.Usage, false)
	}
}
