package codex

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/raymond-action/raymond-action/internal/untrusted/jsonstrict"
	"github.com/raymond-action/raymond-action/runner/internal/program"
)

// record is one line of the CLI's output, reduced to the fields that this package needs.
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

// item is a message of the model, a tool use, or a message of the CLI itself.
type item struct {
	ID     string `json:"id"`
	Type   string `json:"type"`
	Text   string `json:"text"`    // agent_message, reasoning
	Status string `json:"status"`  // of a tool use
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

// lenient are the options for decoding records. Text of a model or a tool may contain duplicate
// names and invalid UTF-8, and a field with an unexpected type is skipped.
var lenient = json.JoinOptions(jsonstrict.Loose, json.WithUnmarshalers(json.JoinUnmarshalers(
	program.SkipMistyped[string](`"`), program.SkipMistyped[[]change]("["), program.SkipMistyped[change]("{"), program.SkipMistyped[item]("{"))))

func (r *record) decode(line []byte) error { return json.Unmarshal(line, r, lenient) }

// toolUse returns the tool and the input of a tool use, as shown to people. ok is false for other
// items.
func (i item) toolUse() (tool, input string, ok bool) {
	switch i.Type {
	case "command_execution":
		return "Shell", i.Command, true
	case "file_change":
		return "Patch", i.paths(), true
	case "mcp_tool_call":
		var tool string
		_ = json.Unmarshal(i.Tool, &tool, lenient) // a value that is not a string leaves the name empty
		return i.Server + "." + tool, "", true
	case "web_search":
		return "WebSearch", i.Query, true
	}
	return "", "", false
}

// paths returns the first files of a patch as a list.
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
