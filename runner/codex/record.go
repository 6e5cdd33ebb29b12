package codex

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/raymond-action/raymond-action/internal/untrusted/jsonstrict"
	"github.com/raymond-action/raymond-action/runner/internal/program"
)

// record is one line of the CLI's output, reduced to the fields that this package needs. The
// comment after a field names the types of records that contain the field.
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

// item is a message of the model, a tool call, or a message of the CLI itself. The comment after a
// field names the types of items that contain the field.
type item struct {
	ID     string `json:"id"`
	Type   string `json:"type"`
	Text   string `json:"text"`    // agent_message, reasoning
	Status string `json:"status"`  // of a tool call
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

// lenient contains the options for decoding records. Texts of a model or a tool may contain
// duplicate names and invalid UTF-8. A field with an unexpected type is skipped.
var lenient = json.JoinOptions(jsonstrict.Loose, json.WithUnmarshalers(json.JoinUnmarshalers(
	program.SkipMistyped[string](`"`), program.SkipMistyped[[]change]("["), program.SkipMistyped[change]("{"), program.SkipMistyped[item]("{"))))

// toolUse returns the tool and the input of a tool call, as shown to users. ok is false if the item
// is not a tool call.
func (i item) toolUse() (tool, input string, ok bool) {
	switch i.Type {
	case "command_execution":
		return "Shell", i.Command, true
	case "file_change":
		return "Patch", i.paths(), true
	case "mcp_tool_call":
		var tool string
		_ = json.Unmarshal(i.Tool, &tool, lenient) // if it is not a string, the name stays empty
		return i.Server + "." + tool, "", true
	case "web_search":
		return "WebSearch", i.Query, true
	}
	return "", "", false
}

// paths returns the names of the first ten files in a patch as one text.
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
