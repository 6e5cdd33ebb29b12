package claude

import (
	"errors"
	"maps"

	"github.com/go-json-experiment/json"

	"github.com/raymond-action/raymond-action/runner/claude/messages"
	"github.com/raymond-action/raymond-action/runner/tally"
	"github.com/raymond-action/raymond-action/runner/transcripts"
	"github.com/raymond-action/raymond-action/state"
)

// synthetic is the model of messages that the CLI wrote itself, about errors.
const synthetic = "<synthetic>"

// Limits of what is kept while a transcript is summed up.
const (
	maxMessages = 100_000
	maxNames    = 512 // bytes of the id and the model of a message
)

// spoken is an assistant's line of a transcript.
type spoken struct {
	Type    string `json:"type"`
	Message struct {
		ID    string          `json:"id"`
		Model string          `json:"model"`
		Usage messages.Tokens `json:"usage"`
	} `json:"message"`
}

// used returns the tokens that a transcript shows from the given byte on, one element a model. Models are in order of name,
// without variants as in "[1m]". Each message counts once, as its last line says: the CLI writes a line a part.
func used(path string, from int64) ([]state.Usage, error) {
	messages := map[string]state.Usage{}
	err := transcripts.EachLine(path, from, func(line []byte, truncated bool) error {
		var m spoken
		if truncated || json.Unmarshal(line, &m, tally.Loose) != nil {
			return nil
		}
		if m.Type != "assistant" || m.Message.Model == synthetic {
			return nil
		}
		if len(m.Message.ID)+len(m.Message.Model) > maxNames || len(messages) >= maxMessages {
			return errors.New("this is no transcript of the CLI")
		}
		messages[m.Message.ID] = m.Message.Usage.Usage(m.Message.Model)
		return nil
	})
	if err != nil || len(messages) == 0 {
		return nil, err
	}
	return tally.ByModel(maps.Values(messages)), nil
}
