package gemini

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/raymond-action/raymond-action/internal/untrusted/jsonstrict"
	"github.com/raymond-action/raymond-action/runner/keyproxy"
	"github.com/raymond-action/raymond-action/runner/transcripts"
	"github.com/raymond-action/raymond-action/state"
)

// said is a message in a transcript. The CLI writes one again when it learns more about it.
type said struct {
	ID      string         `json:"id"`
	Type    string         `json:"type"` // "user" or "gemini"; others are notes
	Model   string         `json:"model"`
	Content jsontext.Value `json:"content"` // a text, or parts of it
	Tokens  jsontext.Value `json:"tokens"`
}

// ofMessage is how the CLI counts for one message.
var ofMessage = keyproxy.Layout{Input: []string{"input", "tool"}, Output: []string{"output", "thoughts"}, CacheRead: "cached", InputIncludesCache: true}

// isSaid reports whether the message is one of a user or of the model.
func (m said) isSaid() bool { return m.Type == "user" || m.Type == "gemini" }

// text is what the message says.
func (m said) text() string { return transcripts.TextOf(m.Content) }

// used returns the tokens that a transcript shows from a byte on, by model. Each message counts once, as it was written last.
func used(path string, from int64) ([]state.Usage, error) {
	return transcripts.SumUsage(path, from, func(line []byte) (string, state.Usage, bool) {
		var m said
		if json.Unmarshal(line, &m, jsonstrict.Loose) != nil || !m.isSaid() {
			return "", state.Usage{}, false
		}
		return m.ID, ofMessage.Usage(m.Tokens, m.Model), true
	})
}

// Words are those of every transcript, without which the CLI can't read it.
const Words = "sessionId projectHash type user gemini content text toolCalls $set messages id"
