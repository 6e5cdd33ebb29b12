package codex

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/raymond-action/raymond-action/internal/untrusted/jsonstrict"
	"github.com/raymond-action/raymond-action/runner/internal/program"
)

// record is one line of the CLI's output, reduced to what this package needs.
type record struct {
	Type    string         `json:"type"`
	Thread  string         `json:"thread_id"` // thread.started
	Item    item           `json:"item"`      // item.*
	Usage   jsontext.Value `json:"usage"`     // turn.completed
	Message string         `json:"message"`   // error
	Error   struct {
		Message string `json:"message"`
	} `json:"error"` // turn.failed
}

// item is a message of the model, a use of a tool, or a word of the CLI itself.
type item struct {
	ID     string `json:"id"`
	Type   string `json:"type"`
	Text   string `json:"text"`    // agent_message, reasoning
	Status string `json:"status"`  // of a use of a tool
	Words  string `json:"message"` // error

	Command string         `json:"command"`
	Output  string         `json:"aggregated_output"`
	Changes []change       `json:"changes"`
	Server  string         `json:"server"`
	Tool    jsontext.Value `json:"tool"`
	Query   string         `json:"query"`
}

type change struct {
	Path string `json:"path"`
}

// loose is how records are read: what a model or a tool wrote may hold names twice and bytes
// that are no UTF-8, and a field of a type that nobody expected costs itself alone.
var loose = json.JoinOptions(jsonstrict.Loose, json.WithUnmarshalers(json.JoinUnmarshalers(
	program.SkipMistyped[string](`"`), program.SkipMistyped[[]change]("["), program.SkipMistyped[change]("{"), program.SkipMistyped[item]("{"))))

func (r *record) decode(line []byte) error { return json.Unmarshal(line, r, loose) }

// use is a use of a tool as people are told it.
func (i item) use() (tool, input string, ok bool) {
	switch i.Type {
	case "command_execution":
		return "Shell", i.Command, true
	case "file_change":
		return "Patch", i.paths(), true
	case "mcp_tool_call":
		var tool string
		_ = json.Unmarshal(i.Tool, &tool, loose) // what is no text has no name
		return i.Server + "." + tool, "", true
	case "web_search":
		return "WebSearch", i.Query, true
	}
	return "", "", false
}

// paths are the files of a patch.
func (i item) paths() string {
	text := ""
	for n, c := range i.Changes {
		switch {
		case n == 10:
			return text + ", …"
		case n > 0:
			text += ", "
		}
		text += c.Path
	}
	return text
}
