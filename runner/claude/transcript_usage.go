package claude

import (
	"github.com/go-json-experiment/json"

	"github.com/raymond-action/raymond-action/internal/untrusted/jsonstrict"
	"github.com/raymond-action/raymond-action/runner/transcripts"
	"github.com/raymond-action/raymond-action/state"
)

// synthetic is the model name in messages that the CLI itself has written, for example about errors.
const synthetic = "<synthetic>"

// modelLine is a line in a transcript that contains a message of the model.
type modelLine struct {
	Type    string `json:"type"`
	Message answer `json:"message"`
}

// readUsage returns the tokens in a transcript, by model without a variant like "[1m]". It skips the bytes
// before the offset from. The CLI writes a line for each part of a message. Each message is counted once,
// with the numbers in its last line.
func readUsage(path string, from int64) ([]state.Usage, error) {
	return transcripts.SumUsage(path, from, func(line []byte) (string, state.Usage, bool) {
		var m modelLine
		if json.Unmarshal(line, &m, jsonstrict.Loose) != nil || m.Type != "assistant" || m.Message.Model == synthetic {
			return "", state.Usage{}, false
		}
		return m.Message.ID, usageOf(m.Message.Usage, m.Message.Model), true
	})
}
