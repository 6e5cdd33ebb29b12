package gemini

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/raymond-action/raymond-action/internal/untrusted/jsonstrict"
	"github.com/raymond-action/raymond-action/runner/internal/program"
	"github.com/raymond-action/raymond-action/runner/keyproxy"
)

// record is one line of the CLI's output. The comment after a field names the types of records that
// contain the field.
type record struct {
	Type      string `json:"type"`
	SessionID string `json:"session_id"` // init
	Model     string `json:"model"`      // init

	Role    string `json:"role"` // message
	Content string `json:"content"`

	Tool       string         `json:"tool_name"` // tool_use
	Use        string         `json:"tool_id"`   // tool_use and tool_result
	Parameters jsontext.Value `json:"parameters"`

	Status   string         `json:"status"` // tool_result, result: "success" or "error"
	Output   string         `json:"output"`
	Error    recordError    `json:"error"`
	Severity string         `json:"severity"` // error
	Message  string         `json:"message"`
	Stats    jsontext.Value `json:"stats"` // result
}

// recordError is the reason for a failure.
type recordError struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}

// modelStats contains the number of tokens for one model in one process.
type modelStats struct {
	Counts jsontext.Value `json:",embed"`
}

// models returns the tokens that the process has used with each model. It returns nil if they can't
// be decoded.
func (r *record) models() map[string]modelStats {
	var all struct {
		Models map[string]modelStats `json:"models"`
	}
	if json.Unmarshal(r.Stats, &all, jsonstrict.Loose) != nil {
		return nil
	}
	return all.Models
}

// resultLayout describes how the CLI's result counts the tokens of one model.
var resultLayout = keyproxy.Layout{Input: []string{"input_tokens"}, Output: []string{"output_tokens"}, CacheRead: "cached", InputIncludesCache: true}

// lenient contains the options for decoding records. Texts of a model or a tool may contain
// duplicate names and invalid UTF-8. A field with an unexpected type is skipped.
var lenient = json.JoinOptions(jsonstrict.Loose, json.WithUnmarshalers(json.JoinUnmarshalers(
	program.SkipMistyped[string](`"`), program.SkipMistyped[recordError]("{"),
)))

// decode decodes one line of the CLI's output.
func (r *record) decode(line []byte) error { return json.Unmarshal(line, r, lenient) }

// mainInputs are the names of the inputs that describe a tool call well, the best ones first.
var mainInputs = []string{"command", "file_path", "absolute_path", "path", "dir_path", "url", "prompt", "query", "pattern", "name"}
