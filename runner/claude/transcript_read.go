package claude

import (
	"bytes"
	"iter"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/raymond-action/raymond-action/runner/tally"
	"github.com/raymond-action/raymond-action/runner/transcripts"
)

// holdsPrompt reports whether the first length bytes of a transcript can be resumed: the CLI can neither
// resume one without any prompt nor begin its session again.
func holdsPrompt(path string, length int64) (bool, error) {
	return transcripts.Holds(path, length, func(line []byte, _ bool) bool { return typeOf(line) == "user" })
}

// costState is a line in which the CLI keeps what a conversation has cost so far, as
// it wrote it.
type costState struct {
	TotalCost  jsontext.Value `json:"totalCostUSD"`
	ModelUsage jsontext.Value `json:"modelUsage"`
}

// costStates goes through the counts within the first size bytes of a transcript, the
// oldest first. One that can't be read has none; of a very long one only the end is
// read.
func costStates(path string, size int64) iter.Seq[costState] {
	return func(yield func(costState) bool) {
		at := max(0, size-transcripts.MaxRead)
		_ = transcripts.EachLine(path, at, func(line []byte, truncated bool) error {
			if at += int64(len(line)) + 1; at > size+1 {
				return transcripts.ErrStop
			}
			isCount := !truncated && bytes.Contains(line, []byte(`"cost-state"`)) && typeOf(line) == "cost-state"
			var c costState
			if isCount && json.Unmarshal(line, &c, tally.Loose) == nil && !yield(c) {
				return transcripts.ErrStop
			}
			return nil
		})
	}
}

// typeOf returns the type of a record, in a transcript or in the CLI's output, of
// which perhaps only the beginning is there; "" when that does not tell.
func typeOf(head []byte) string {
	dec := jsontext.NewDecoder(bytes.NewReader(head), tally.Loose)
	if t, err := dec.ReadToken(); err != nil || t.Kind() != '{' {
		return ""
	}
	for {
		name, err := dec.ReadToken()
		if err != nil || name.Kind() != '"' {
			return ""
		}
		if name.String() != "type" {
			if dec.SkipValue() != nil {
				return ""
			}
			continue
		}
		value, err := dec.ReadToken()
		if err != nil || value.Kind() != '"' {
			return ""
		}
		return value.String()
	}
}
