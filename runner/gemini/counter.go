// counter reads what the Gemini API says of the tokens of an answer, whole or piece
// by piece. Each piece says it of counted up to there.

package gemini

import (
	"bytes"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/raymond-action/raymond-action/internal/untrusted/jsonstrict"
	"github.com/raymond-action/raymond-action/runner/keyproxy"
)

// ofAPI is how the API counts for one answer. What is read from the cache is a part of the
// prompt; what tools of the API bring into it is not. Thoughts are not in the candidates.
var ofAPI = keyproxy.Layout{
	Input: []string{"promptTokenCount", "toolUsePromptTokenCount"}, Output: []string{"candidatesTokenCount", "thoughtsTokenCount"},
	CacheRead: "cachedContentTokenCount", InputIncludesCache: true, Free: []string{"totalTokenCount"},
}

// piece is a piece of an answer, as far as it counts tokens.
type piece struct {
	Usage jsontext.Value `json:"usageMetadata"`
	// Candidates are what the model said. An error has none.
	Candidates jsontext.Value `json:"candidates"`
	Error      jsontext.Value `json:"error"`
}

// counter counts the tokens of one answer as it passes. It implements keyproxy.Counter.
type counter struct{ keyproxy.FinalCounter }

// Event takes the data of an event of a stream.
func (c *counter) Event(data []byte) {
	var p piece
	if json.Unmarshal(data, &p, jsonstrict.Loose) == nil {
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
	if json.Unmarshal(data, &counted, jsonstrict.Loose) == nil {
		for _, p := range counted {
			c.took(p)
		}
	}
}

func (c *counter) took(p piece) {
	if isFree := p.Error != nil && c.Message() == nil; isFree || p.Usage != nil || p.Candidates != nil {
		c.Update(p.Usage, isFree)
	}
}
