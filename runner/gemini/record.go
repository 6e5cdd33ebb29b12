package gemini

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/raymond-action/raymond-action/runner/internal/program"
	"github.com/raymond-action/raymond-action/runner/tally"
	"github.com/raymond-action/raymond-action/state"
)

// record is one line of the CLI's output, of any type. What is of another kind than expected
// costs only itself.
type record struct {
	Type      text `json:"type"`
	SessionID text `json:"session_id"` // init
	Model     text `json:"model"`      // init

	Role    text `json:"role"` // message
	Content text `json:"content"`

	Tool       text           `json:"tool_name"` // tool_use
	Use        text           `json:"tool_id"`   // and tool_result
	Parameters jsontext.Value `json:"parameters"`

	Status   text    `json:"status"` // tool_result, result: "success" or "error"
	Output   text    `json:"output"`
	Error    problem `json:"error"`
	Severity text    `json:"severity"` // error
	Message  text    `json:"message"`
	Stats    stats   `json:"stats"` // result
}

// text is a text; another value is none.
type text string

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (t *text) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if dec.PeekKind() != '"' {
		return dec.SkipValue()
	}
	var s string
	err := json.UnmarshalDecode(dec, &s)
	*t = text(s)
	return err
}

// problem is why something failed.
type problem struct {
	Type    text `json:"type"`
	Message text `json:"message"`
}

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (p *problem) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if dec.PeekKind() != '{' {
		return dec.SkipValue()
	}
	type plain problem
	return json.UnmarshalDecode(dec, (*plain)(p))
}

// stats are the tokens of all requests of a process, by model.
type stats map[string]modelStats

type modelStats struct {
	Total  jsontext.Value `json:"total_tokens"`
	Prompt jsontext.Value `json:"input_tokens"` // with what came from the cache
	Output jsontext.Value `json:"output_tokens"`
	Cached jsontext.Value `json:"cached"`
}

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (s *stats) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	value, err := dec.ReadValue()
	if err != nil {
		return err
	}
	var all struct {
		Models map[string]modelStats `json:"models"`
	}
	if json.Unmarshal(value, &all, tally.Loose) == nil {
		*s = all.Models
	}
	return nil
}

// usage are the tokens of a model. What it thought is output, which the CLI counts in the total
// alone.
func (m modelStats) usage(model string) state.Usage {
	prompt, cached := tally.Count(m.Prompt), tally.Count(m.Cached)
	return state.Usage{
		Model: model, Input: max(prompt-cached, 0), CacheRead: cached,
		Output: max(tally.Count(m.Total)-prompt, tally.Count(m.Output)),
	}
}

func (r *record) decode(line []byte) error { return json.Unmarshal(line, r, tally.Loose) }

// telling are the inputs that say most about a use of a tool, best first.
var telling = []string{"command", "file_path", "absolute_path", "path", "dir_path", "url", "prompt", "query", "pattern", "name"}

// input is what a use of a tool is about, on one line or more.
func (r *record) input() string {
	if text, ok := program.Field(r.Parameters, telling); ok {
		return text
	}
	return string(r.Parameters)
}
