package claudetest

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/raymond-action/raymond-action/runner/agenttest"
)

// request is the body of a request for the model's next message.
type request struct {
	Model    string
	Stream   bool
	Messages []struct {
		Role    string
		Content content
	}
	Tools []struct{ Name string }
}

// content are blocks; on the wire a string stands for one block of text.
type content []struct {
	Type, Text string
	Content    content
}

// UnmarshalJSON implements json.Unmarshaler.
func (c *content) UnmarshalJSON(data []byte) error {
	type blocks content // without this method
	var text string
	if json.Unmarshal(data, &text) == nil {
		return json.Unmarshal(agenttest.Marshalled([]map[string]string{{"type": "text", "text": text}}), (*blocks)(c))
	}
	return json.Unmarshal(data, (*blocks)(c))
}

// text are the texts of the blocks, without what the CLI adds by itself.
func (c content) text() string {
	var parts []string
	for _, b := range c {
		if b.Type == "text" && b.Text != "" && !isReminder(b.Text) {
			parts = append(parts, b.Text)
		}
	}
	return strings.Join(parts, "\n")
}

func isReminder(text string) bool { return strings.HasPrefix(text, "<system-reminder>") }

// asked says what a request shows the model.
func (q request) asked(h http.Header, body []byte) agenttest.Asked {
	a := agenttest.Asked{Model: q.Model, Key: cmp.Or(h.Get("x-api-key"), strings.TrimPrefix(h.Get("Authorization"), "Bearer ")), Body: body}
	for _, tool := range q.Tools {
		a.Tools = append(a.Tools, tool.Name)
	}
	for _, m := range q.Messages {
		for _, b := range m.Content {
			switch {
			case b.Type == "tool_use":
				a.Used++
			case b.Type == "tool_result":
				a.Output = b.Content.text()
			case b.Type != "text" || isReminder(b.Text) || m.Role == "system":
			case m.Role == "assistant":
				a.Said = append(a.Said, b.Text)
			default:
				a.Prompts, a.Output, a.Used = append(a.Prompts, strings.TrimSpace(b.Text)), "", 0
			}
		}
	}
	return a
}
