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

// entry is a line of a rollout, as far as it is shown to people.
type entry struct {
	Time    string `json:"timestamp"`
	Type    string `json:"type"`
	Payload struct {
		call
		Model   string   `json:"model"`   // of turn_context
		Message string   `json:"message"` // of an error, and of a summary
		Item    doneItem `json:"item"`
	} `json:"payload"`
}

// doneItem is something that the CLI has told as done.
type doneItem struct {
	Type    string         `json:"type"`
	Content jsontext.Value `json:"content"`
	Status  string         `json:"status"` // of a command
}

// teller tells the messages of a thread.
func teller(string) transcripts.MessageReader {
	return transcripts.MessageReader{LineHandler: func(feed *transcripts.Feed) func([]byte, runner.Message) error { return (&reader{feed: feed}).line }}
}

// reader reads one rollout.
type reader struct {
	feed   *transcripts.Feed
	model  string
	failed bool // a command of the tool that is being used
}

func (r *reader) line(text []byte, m runner.Message) error {
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
		return r.say(m, runner.FromCLI, p.Message)
	case e.Type == "event_msg" && p.Type == "item_completed":
		return r.done(p.Item, m)
	case e.Type == "response_item" && strings.HasSuffix(p.Type, "_call_output"):
		m.Refused = refusal(p.Output) != ""
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

// done tells of something that the CLI has told as done.
func (r *reader) done(i doneItem, m runner.Message) error {
	switch i.Type {
	case "UserMessage":
		return r.say(m, runner.FromUser, transcripts.TextOf(i.Content))
	case "AgentMessage":
		m.Model = r.model
		return r.say(m, runner.FromAgent, transcripts.TextOf(i.Content))
	case "CommandExecution":
		r.failed = r.failed || i.Status == "failed"
	}
	return nil
}

func (r *reader) say(m runner.Message, who runner.Speaker, text string) error {
	if text == "" {
		return nil
	}
	m.From = who
	m.Text, m.Cut = transcripts.TruncateText(text)
	return r.feed.Add(m)
}
