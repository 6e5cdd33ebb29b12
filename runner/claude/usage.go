package claude

import (
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/raymond-action/raymond-action/state"
)

// spoken is an assistant's line of a transcript.
type spoken struct {
	Type    string `json:"type"`
	Message struct {
		ID    string `json:"id"`
		Model string `json:"model"`
		Usage tokens `json:"usage"`
	} `json:"message"`
}

// tokens is the API's own count for one message.
type tokens struct {
	Input      int64 `json:"input_tokens"`
	Output     int64 `json:"output_tokens"`
	CacheWrite int64 `json:"cache_creation_input_tokens"`
	CacheRead  int64 `json:"cache_read_input_tokens"`
}

// Usage implements runner.Sessions. Models are in order of name, without
// variants as in "[1m]". Each message counts once, as its last line says: the
// CLI writes a line a block.
func (b *Backend) Usage(session, dir string, from int64) ([]state.Usage, bool) {
	path, ok := b.transcript(session, dir)
	if !ok || from < 0 {
		return nil, false
	}
	messages := map[string]spoken{}
	err := eachRecord(path, from, func(line []byte, truncated bool) error {
		var m spoken
		if truncated || json.Unmarshal(line, &m, loose) != nil {
			return nil
		}
		if m.Type == "assistant" && m.Message.Model != synthetic {
			messages[m.Message.ID] = m
		}
		return nil
	})
	if err != nil || len(messages) == 0 {
		return nil, false
	}
	return sum(messages), true
}

func sum(messages map[string]spoken) []state.Usage {
	models := map[string]state.Usage{}
	for _, m := range messages {
		u := models[bare(m.Message.Model)]
		u.Model = bare(m.Message.Model)
		u.Input += max(m.Message.Usage.Input, 0)
		u.Output += max(m.Message.Usage.Output, 0)
		u.CacheWrite += max(m.Message.Usage.CacheWrite, 0)
		u.CacheRead += max(m.Message.Usage.CacheRead, 0)
		models[u.Model] = u
	}
	return slices.SortedFunc(maps.Values(models), func(a, b state.Usage) int {
		return strings.Compare(a.Model, b.Model)
	})
}
