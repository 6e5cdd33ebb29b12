package claude

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/raymond-action/raymond-action/runner/internal/program"
)

const maxDenied = 100 // refused tool uses in an answer

// show tells a block of an assistant's message.
func show(d *program.Display, b block) {
	switch b.Type {
	case "tool_use":
		d.Begin(b.ID, b.Name, telling(b.Input))
	case "text":
		d.Text(b.Text)
	}
}

// endUses takes the results of tools out of the uses under way.
func endUses(d *program.Display, blocks content) {
	var ended []string
	for _, b := range blocks {
		if b.Type == "tool_result" {
			ended = append(ended, b.Use)
		}
	}
	d.End(ended...)
}

// denied lists refused tool uses.
func denied(d *program.Display, all []denial) []string {
	var list []string
	for _, use := range all[:min(len(all), maxDenied)] {
		list = append(list, toolUse(d, use.Tool, use.Input))
	}
	return list
}

// toolUse returns a use of a tool as "Tool(input)", on one short line.
func toolUse(d *program.Display, tool string, input jsontext.Value) string {
	return d.ToolUse(tool, telling(input))
}

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
