package claude

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/raymond-action/raymond-action/runner/internal/program"
)

// tellingFields are the inputs that say most about a use of a tool, best first.
var tellingFields = []string{"command", "file_path", "notebook_path", "path", "url", "pattern", "query", "description"}

// telling returns what says most of the input of a tool: one of its fields, or all of it.
func telling(input jsontext.Value) string {
	if text, ok := program.Field(input, tellingFields); ok {
		return text
	}
	if string(input) == "{}" || string(input) == "null" {
		return ""
	}
	return string(input)
}
