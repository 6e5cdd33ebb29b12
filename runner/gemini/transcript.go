package gemini

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/raymond-action/raymond-action/internal/untrusted/jsonstrict"
	"github.com/raymond-action/raymond-action/runner/keyproxy"
	"github.com/raymond-action/raymond-action/runner/transcripts"
	"github.com/raymond-action/raymond-action/state"
)

// message is a message in a transcript. If the CLI gets more data about a message, it writes the
// message again.
type message struct {
	ID      string         `json:"id"`
	Type    string         `json:"type"` // "user" or "gemini"; messages of other types are notes
	Model   string         `json:"model"`
	Content jsontext.Value `json:"content"` // a string or a list of content blocks
	Tokens  jsontext.Value `json:"tokens"`
}

// messageLayout describes how a transcript counts the tokens of one message.
var messageLayout = keyproxy.Layout{Input: []string{"input", "tool"}, Output: []string{"output", "thoughts"}, CacheRead: "cached", InputIncludesCache: true}

// isConversation reports whether the message is from the user or the model.
func (m message) isConversation() bool { return m.Type == "user" || m.Type == "gemini" }

// text returns the text of the message.
func (m message) text() string { return transcripts.TextOf(m.Content) }

// usageFrom returns the tokens in a transcript from a byte offset on, for each model. If the
// transcript contains a message several times, the last one counts.
func usageFrom(path string, from int64) ([]state.Usage, error) {
	return transcripts.SumUsage(path, from, func(line []byte) (string, state.Usage, bool) {
		var m message
		if json.Unmarshal(line, &m, jsonstrict.Loose) != nil || !m.isConversation() {
			return "", state.Usage{}, false
		}
		return m.ID, messageLayout.Usage(m.Tokens, m.Model), true
	})
}

// Words contains the keywords of the transcript format, separated by spaces. They must not be
// masked as secrets, because then the CLI could not read its transcripts.
const Words = "sessionId projectHash type user gemini content text toolCalls $set messages id"
