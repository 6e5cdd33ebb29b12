package gemini

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/raymond-action/raymond-action/internal/untrusted/jsonstrict"
	"github.com/raymond-action/raymond-action/runner/internal/program"
	"github.com/raymond-action/raymond-action/runner/keyproxy"
)

// record is one line of the CLI's output, of any type.
type record struct {
	Type      string `json:"type"`
	SessionID string `json:"session_id"` // init
	Model     string `json:"model"`      // init

	Role    string `json:"role"` // message
	Content string `json:"content"`

	Tool       string         `json:"tool_name"` // tool_use
	Use        string         `json:"tool_id"`   // and tool_result
	Parameters jsontext.Value `json:"parameters"`

	Status   string         `json:"status"` // tool_result, result: "success" or "error"
	Output   string         `json:"output"`
	Error    problem        `json:"error"`
	Severity string         `json:"severity"` // error
	Message  string         `json:"message"`
	Stats    jsontext.Value `json:"stats"` // result
}

// problem is why something failed.
type problem struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}

// modelStats are the counts of all requests of a model.
type modelStats struct {
	Counts jsontext.Value `json:",embed"`
}

// models are the counts of a process, by model; nothing when there is anything odd among them.
func (r *record) models() map[string]modelStats {
	var all struct {
		Models map[string]modelStats `json:"models"`
	}
	if json.Unmarshal(r.Stats, &all, jsonstrict.Loose) != nil {
		return nil
	}
	return all.Models
}

// ofResult is how a result counts for one model.
var ofResult = keyproxy.Layout{Input: []string{"input_tokens"}, Output: []string{"output_tokens"}, CacheRead: "cached", InputIncludesCache: true}

// lenient is how records are read: what a model or a tool wrote may hold names twice and bytes that are no UTF-8, and a field
// of a type that nobody expected costs itself alone.
var lenient = json.JoinOptions(jsonstrict.Loose, json.WithUnmarshalers(json.JoinUnmarshalers(
	program.SkipMistyped[string](`"`), program.SkipMistyped[problem]("{"),
)))

func (r *record) decode(line []byte) error { return json.Unmarshal(line, r, lenient) }

// telling are the inputs that say most about a use of a tool, best first.
var telling = []string{"command", "file_path", "absolute_path", "path", "dir_path", "url", "prompt", "query", "pattern", "name"}
