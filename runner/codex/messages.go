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
		Model   string `json:"model"`   // in a turn_context
		Message string `json:"message"` // in an error or a summary
		Item    struct {
			Type    string         `json:"type"`
			Content jsontext.Value `json:"content"`
			Status  string         `json:"status"` // only of a command
		} `json:"item"` // in an item_completed: a message or a command
	} `json:"payload"`
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
		switch p.Item.Type {
		case "UserMessage":
			return r.addMessage(m, runner.FromUser, transcripts.TextOf(p.Item.Content))
		case "AgentMessage":
			m.Model = r.model
			return r.addMessage(m, runner.FromAgent, transcripts.TextOf(p.Item.Content))
		case "CommandExecution":
			r.failed = r.failed || p.Item.Status == "failed"
		}
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

// addMessage adds a message of the given sender, unless its text is empty.
func (r *rolloutReader) addMessage(m runner.Message, who runner.Speaker, text string) error {
	if text == "" {
		return nil
	}
	m.From = who
	m.Text, m.Cut = transcripts.TruncateText(text)
	return r.feed.Add(m)
}
