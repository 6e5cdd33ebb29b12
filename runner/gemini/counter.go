// counter reads the token counts in responses of the Gemini API, complete or streamed. Each event
// of a stream has the counts up to that point.

package gemini

import (
	"bytes"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/raymond-action/raymond-action/internal/untrusted/jsonstrict"
	"github.com/raymond-action/raymond-action/runner/keyproxy"
)

// apiLayout describes how the API counts the tokens of one response. The prompt includes tokens
// read from the cache, but not the results of the API's own tools. Thoughts are not included in the
// candidates.
var apiLayout = keyproxy.Layout{
	Input: []string{"promptTokenCount", "toolUsePromptTokenCount"}, Output: []string{"candidatesTokenCount", "thoughtsTokenCount"},
	CacheRead: "cachedContentTokenCount", InputIncludesCache: true, Free: []string{"totalTokenCount"},
}

// piece is a response or an event of a stream, as far as it counts tokens.
type piece struct {
	Usage jsontext.Value `json:"usageMetadata"`
	// Candidates are the messages of the model. An error response doesn't have any.
	Candidates jsontext.Value `json:"candidates"`
	Error      jsontext.Value `json:"error"`
}

// counter counts the tokens of one response while it passes through. It implements
// keyproxy.Counter.
type counter struct{ keyproxy.FinalCounter }

// Event reads the data of a server-sent event.
func (c *counter) Event(data []byte) {
	var p piece
	if json.Unmarshal(data, &p, jsonstrict.Loose) == nil {
		c.update(p)
	}
}

// Whole reads a response that is not a stream of server-sent events.
func (c *counter) Whole(data []byte) {
	data = bytes.TrimSpace(data)
	if !bytes.HasPrefix(data, []byte("[")) {
		c.Event(data)
		return
	}
	var counted []piece // a stream as a JSON array
	if json.Unmarshal(data, &counted, jsonstrict.Loose) == nil {
		for _, p := range counted {
			c.update(p)
		}
	}
}

func (c *counter) update(p piece) {
	if isFree := p.Error != nil && c.Message() == nil; isFree || p.Usage != nil || p.Candidates != nil {
		c.Update(p.Usage, isFree)
	}
}
