package claudetest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// Request is what the server keeps of one request for a message.
type Request struct {
	Model    string
	Stream   bool
	APIKey   string // from x-api-key, or the bearer token
	Header   http.Header
	Messages []Message
	// Prompt is the last user text: the last text block that is no system
	// reminder of the last user message that is more than tool results.
	Prompt string
	Step   int // assistant messages after Prompt
}

// Message is one message of a conversation, its blocks flattened to text: text
// as it is, "[Tool {input}]" for a tool use, "[= output]" for a tool result.
// System reminders and messages of the role "system" are left out.
type Message struct{ Role, Text string }

// Conversation returns the messages one a line, as "role: text", so that tests
// can compare what the model saw.
func (r Request) Conversation() string {
	var b strings.Builder
	for _, m := range r.Messages {
		fmt.Fprintf(&b, "%s: %s\n", m.Role, m.Text)
	}
	return b.String()
}

type wireRequest struct {
	Model    string        `json:"model"`
	Stream   bool          `json:"stream"`
	Messages []wireMessage `json:"messages"`
}

type wireMessage struct {
	Role    string `json:"role"`
	Content blocks `json:"content"`
}

type wireBlock struct {
	Type    string          `json:"type"`
	Text    string          `json:"text"`
	Name    string          `json:"name"`
	Input   json.RawMessage `json:"input"`
	Content blocks          `json:"content"`
}

// blocks are content blocks; on the wire a string stands for one text block.
type blocks []wireBlock

// UnmarshalJSON implements json.Unmarshaler.
func (bs *blocks) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		*bs = blocks{{Type: "text", Text: text}}
		return nil
	}
	return json.Unmarshal(data, (*[]wireBlock)(bs))
}

func (b wireBlock) flat() string {
	switch b.Type {
	case "text":
		return b.Text
	case "tool_use":
		return fmt.Sprintf("[%s %s]", b.Name, b.Input)
	case "tool_result":
		return "[= " + b.Content.flat() + "]"
	}
	return ""
}

func (bs blocks) flat() string {
	var parts []string
	for _, b := range bs {
		if s := b.flat(); s != "" && !isReminder(s) {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, "\n")
}

// prompt returns the last text block that follows all tool results and is no
// reminder: after a turn limit the CLI sends results and the next prompt in one
// message, after a failed turn the old prompt and the new one.
func (bs blocks) prompt() (string, bool) {
	for i := len(bs) - 1; i >= 0 && bs[i].Type != "tool_result"; i-- {
		if bs[i].Type == "text" && !isReminder(bs[i].Text) {
			return bs[i].Text, true
		}
	}
	return "", false
}

func isReminder(text string) bool { return strings.HasPrefix(text, "<system-reminder>") }

// newRequest reads a request body. The prompt is looked for from the end.
func newRequest(h http.Header, body []byte) (Request, error) {
	var w wireRequest
	if err := json.Unmarshal(body, &w); err != nil {
		return Request{}, err
	}
	r := Request{Model: w.Model, Stream: w.Stream, Header: h.Clone(), APIKey: apiKey(h)}
	for _, m := range w.Messages {
		if text := m.Content.flat(); text != "" && m.Role != "system" {
			r.Messages = append(r.Messages, Message{m.Role, text})
		}
	}
	for i := len(w.Messages) - 1; i >= 0; i-- {
		m := w.Messages[i]
		if m.Role == "assistant" {
			r.Step++
		}
		if text, ok := m.Content.prompt(); ok && m.Role == "user" {
			r.Prompt = text
			break
		}
	}
	return r, nil
}

func apiKey(h http.Header) string {
	if key := h.Get("x-api-key"); key != "" {
		return key
	}
	return strings.TrimPrefix(h.Get("Authorization"), "Bearer ")
}
