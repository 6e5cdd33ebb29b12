// counter reads the token counts in responses of the Gemini API, both complete and streamed ones.
// Each event of a streamed response contains the counts up to that event.

package gemini

import (
	"bytes"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/raymond-action/raymond-action/internal/untrusted/jsonstrict"
	"github.com/raymond-action/raymond-action/runner/keyproxy"
)

// apiLayout describes how the API counts the tokens of a response. The count of prompt tokens
// includes tokens that were read from the cache, but not the results of tools that run at the API.
// The count of candidate tokens does not include thoughts.
var apiLayout = keyproxy.Layout{
	Input: []string{"promptTokenCount", "toolUsePromptTokenCount"}, Output: []string{"candidatesTokenCount", "thoughtsTokenCount"},
	CacheRead: "cachedContentTokenCount", InputIncludesCache: true, Free: []string{"totalTokenCount"},
}

// piece is a response, or an event of a streamed response, reduced to the fields needed to count
// tokens.
type piece struct {
	Usage jsontext.Value `json:"usageMetadata"`
	// Candidates contains the messages of the model. An error response does not contain this field.
	Candidates jsontext.Value `json:"candidates"`
	Error      jsontext.Value `json:"error"`
}

// counter counts the tokens of one response while the key proxy forwards it. It implements
// keyproxy.Counter.
type counter struct{ keyproxy.FinalCounter }

// Event reads the data of a server-sent event in a streamed response.
func (c *counter) Event(data []byte) {
	var p piece
	if json.Unmarshal(data, &p, jsonstrict.Loose) == nil {
		c.update(p)
	}
}

// Whole reads a complete response, which may be a stream in the form of a JSON array.
func (c *counter) Whole(data []byte) {
	data = bytes.TrimSpace(data)
	if !bytes.HasPrefix(data, []byte("[")) {
		c.Event(data)
		return
	}
	var counted []piece // the events of a streamed response
	if json.Unmarshal(data, &counted, jsonstrict.Loose) == nil {
		for _, p := range counted {
			c.update(p)
		}
	}
}

// update replaces the counts with the counts in an event or a response.
func (c *counter) update(p piece) {
	if isFree := p.Error != nil && c.Message() == nil; isFree || p.Usage != nil || p.Candidates != nil {
		c.Update(p.Usage, isFree)
	}
}
