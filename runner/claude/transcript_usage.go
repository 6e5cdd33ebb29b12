package claude

import (
	"github.com/go-json-experiment/json"

	"github.com/raymond-action/raymond-action/internal/untrusted/jsonstrict"
	"github.com/raymond-action/raymond-action/runner/transcripts"
	"github.com/raymond-action/raymond-action/state"
)

// synthetic is the model of messages that the CLI wrote itself, about errors.
const synthetic = "<synthetic>"

// spoken is an assistant's line of a transcript.
type spoken struct {
	Type    string `json:"type"`
	Message answer `json:"message"`
}

// used returns the tokens that a transcript shows from the given byte on, by model without variants as in "[1m]". Each message
// counts once, as its last line says: the CLI writes a line a part.
func used(path string, from int64) ([]state.Usage, error) {
	return transcripts.SumUsage(path, from, func(line []byte) (string, state.Usage, bool) {
		var m spoken
		if json.Unmarshal(line, &m, jsonstrict.Loose) != nil || m.Type != "assistant" || m.Message.Model == synthetic {
			return "", state.Usage{}, false
		}
		return m.Message.ID, usageOf(m.Message.Usage, m.Message.Model), true
	})
}
