package gemini

import (
	"errors"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/raymond-action/raymond-action/runner/tally"
	"github.com/raymond-action/raymond-action/runner/transcripts"
	"github.com/raymond-action/raymond-action/state"
)

const (
	// A transcript that is no such thing must not cost more memory than this.
	maxMessages = 1 << 20
	maxNames    = 1024
)

// said is a message in a transcript. The CLI writes one again when it learns more about it.
type said struct {
	ID      string         `json:"id"`
	Type    string         `json:"type"` // "user" or "gemini"; others are notes
	Model   string         `json:"model"`
	Content jsontext.Value `json:"content"` // a text, or parts of it
	Tools   jsontext.Value `json:"toolCalls"`
	Tokens  counts         `json:"tokens"`
}

// counts are the tokens of a message. Those of the input are with what came from the cache.
type counts struct {
	Input    jsontext.Value `json:"input"`
	Output   jsontext.Value `json:"output"`
	Cached   jsontext.Value `json:"cached"`
	Thoughts jsontext.Value `json:"thoughts"`
	Tool     jsontext.Value `json:"tool"`
}

func (c counts) usage(model string) state.Usage {
	cached := tally.Count(c.Cached)
	return state.Usage{
		Model: model, Input: max(tally.Count(c.Input)-cached, 0) + tally.Count(c.Tool), CacheRead: cached,
		Output: tally.Count(c.Output) + tally.Count(c.Thoughts),
	}
}

// isSaid reports whether the message is one of a user or of the model.
func (m said) isSaid() bool { return m.Type == "user" || m.Type == "gemini" }

// text is what the message says.
func (m said) text() string { return transcripts.TextOf(m.Content) }

// messages returns what was said in a transcript from a byte on, in order, each message as it was
// written last.
func messages(path string, from int64) ([]said, error) {
	var all []said
	at := map[string]int{}
	err := transcripts.EachLine(path, from, func(line []byte, truncated bool) error {
		var m said
		if truncated || json.Unmarshal(line, &m, tally.Loose) != nil || !m.isSaid() {
			return nil
		}
		if len(m.ID)+len(m.Model) > maxNames || len(all) >= maxMessages {
			return errors.New("this is no transcript of the CLI")
		}
		m.Content, m.Tools = slices.Clone(m.Content), slices.Clone(m.Tools)
		if i, known := at[m.ID]; known {
			all[i] = m
			return nil
		}
		at[m.ID] = len(all)
		all = append(all, m)
		return nil
	})
	return all, err
}

// finalText is what the model has said last, after its last use of a tool.
func finalText(all []said) string {
	text := ""
	for _, m := range all {
		switch {
		case m.Type != "gemini", len(m.Tools) > 0 && string(m.Tools) != "null" && string(m.Tools) != "[]":
			text = ""
		default:
			text += m.text()
		}
	}
	return text
}

// used adds up the tokens of messages, in order of the models' names.
func used(all []said) []state.Usage {
	return tally.ByModel(func(yield func(state.Usage) bool) {
		for _, m := range all {
			if !yield(m.Tokens.usage(m.Model)) {
				return
			}
		}
	})
}

// Words are those of every transcript, without which the CLI can't read it.
func Words() []string {
	return []string{"sessionId", "projectHash", "type", "user", "gemini", "content", "text", "toolCalls", "$set", "messages", "id"}
}
