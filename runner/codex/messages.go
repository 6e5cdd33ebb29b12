package codex

import (
	"cmp"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/raymond-action/raymond-action/internal/untrusted/jsonstrict"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/transcripts"
)

// entry is a line of a rollout, reduced to the fields that are shown to users.
type entry struct {
	Time    string `json:"timestamp"`
	Type    string `json:"type"`
	Payload struct {
		call
		Model   string        `json:"model"`   // in a turn_context
		Message string        `json:"message"` // in an error or a summary
		Item    completedItem `json:"item"`
	} `json:"payload"`
}

// completedItem is an item that the CLI has reported as completed, such as a message or a command.
type completedItem struct {
	Type    string         `json:"type"`
	Content jsontext.Value `json:"content"`
	Status  string         `json:"status"` // only of a command
}

// messageReader returns a reader for the messages of a thread.
func messageReader(string) transcripts.MessageReader {
	return transcripts.MessageReader{LineHandler: func(feed *transcripts.Feed) func([]byte, runner.Message) error {
		return (&rolloutReader{feed: feed}).line
	}}
}

// rolloutReader adds the messages of one rollout to a feed.
type rolloutReader struct {
	feed   *transcripts.Feed
	model  string
	failed bool // whether a command of the current tool call has failed
}

// line handles one line of the rollout.
func (r *rolloutReader) line(text []byte, m runner.Message) error {
	var e entry
	if json.Unmarshal(text, &e, jsonstrict.Loose) != nil {
		return nil
	}
	m.Time = transcripts.ParseTime(e.Time)
	p := e.Payload
	switch {
	case e.Type == "turn_context":
		r.model = p.Model
	case e.Type == "compacted", e.Type == "event_msg" && strings.HasSuffix(p.Type, "error"):
		return r.addMessage(m, runner.FromCLI, p.Message)
	case e.Type == "event_msg" && p.Type == "item_completed":
		return r.addItem(p.Item, m)
	case e.Type == "response_item" && strings.HasSuffix(p.Type, "_call_output"):
		m.Refused = refusalReason(p.Output) != ""
		m.Text, m.Cut = transcripts.TruncateText(transcripts.TextOf(p.Output))
		m.Failed = m.Refused || r.failed || strings.HasPrefix(m.Text, "Script failed")
		return r.feed.AddToolResult(p.ID, m)
	case e.Type == "response_item" && strings.HasSuffix(p.Type, "_call"):
		r.failed = false
		m.From, m.Model, m.Tool = runner.FromTool, r.model, cmp.Or(p.Name, p.Type)
		m.Input, m.Cut = transcripts.TruncateText(p.Input + p.Arguments)
		return r.feed.AddToolUse(p.ID, m)
	}
	return nil
}

// addItem adds the message in a completed item. For a failed command, it only notes the failure.
func (r *rolloutReader) addItem(i completedItem, m runner.Message) error {
	switch i.Type {
	case "UserMessage":
		return r.addMessage(m, runner.FromUser, transcripts.TextOf(i.Content))
	case "AgentMessage":
		m.Model = r.model
		return r.addMessage(m, runner.FromAgent, transcripts.TextOf(i.Content))
	case "CommandExecution":
		r.failed = r.failed || i.Status == "failed"
	}
	return nil
}

// addMessage adds a message of the given sender, unless its text is empty.
func (r *rolloutReader) addMessage(m runner.Message, who runner.Speaker, text string) error {
	if text == "" {
		return nil
	}
	m.From = who
	m.Text, m.Cut = transcripts.TruncateText(text)
	return r.feed.Add(m)
}
