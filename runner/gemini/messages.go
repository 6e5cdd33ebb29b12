package gemini

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/raymond-action/raymond-action/internal/untrusted/jsonstrict"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/transcripts"
)

// transcriptLine is a line of a transcript, reduced to the fields that are shown to users.
type transcriptLine struct {
	message
	Time  string     `json:"timestamp"`
	Calls []toolCall `json:"toolCalls"`
}

// toolCall is a tool call. It is part of the message in which the model requested it.
type toolCall struct {
	ID     string         `json:"id"`
	Name   string         `json:"name"`
	Args   jsontext.Value `json:"args"`
	Status string         `json:"status"`
	Result jsontext.Value `json:"result"`
	Agent  string         `json:"agentId"` // id of the subagent that the call has started
}

// subagent is an agent that a tool call has started. The CLI stores its conversation in a separate
// file.
type subagent struct{ name, id string }

// messageReader returns a reader for the messages in the transcript at path.
func messageReader(path string) transcripts.MessageReader {
	folder, agents := filepath.Join(filepath.Dir(path), idOf(path)), map[string]subagent{}
	return transcripts.MessageReader{
		LineHandler: func(feed *transcripts.Feed) func([]byte, runner.Message) error {
			return (&lineReader{feed: feed, agents: agents, seen: map[string]bool{}}).line
		},
		Subagent: func(use string) (path, name string) {
			if a := agents[use]; transcripts.IsUUID(a.id) {
				return filepath.Join(folder, a.id+".jsonl"), a.name
			}
			return "", ""
		},
	}
}

// lineReader adds the messages of one transcript to a feed.
type lineReader struct {
	feed   *transcripts.Feed
	agents map[string]subagent
	// seen contains the messages, tool calls and results that were already added, by kind and id.
	seen map[string]bool
}

// line handles one line. It ignores texts and tool calls that an earlier line has already
// contained, since the CLI writes a message again after its tools have returned results.
func (t *lineReader) line(text []byte, m runner.Message) error {
	var l transcriptLine
	if json.Unmarshal(text, &l, jsonstrict.Loose) != nil || len(t.seen) > transcripts.MaxMessages || speakers[l.Type] == "" {
		return nil
	}
	m.From, m.Time = speakers[l.Type], transcripts.ParseTime(l.Time)
	if m.From == runner.FromAgent {
		m.Model = l.Model
	}
	if text := l.text(); text != "" && (l.ID == "" || !t.seen["message "+l.ID]) {
		t.seen["message "+l.ID] = true
		m := m
		m.Text, m.Cut = transcripts.TruncateText(text)
		if err := t.feed.Add(m); err != nil {
			return err
		}
	}
	for _, c := range l.Calls {
		if err := t.addToolCall(c, m); err != nil {
			return err
		}
	}
	return nil
}

// speakers maps the types of messages to their senders.
var speakers = map[string]runner.Speaker{
	"user": runner.FromUser, "gemini": runner.FromAgent, "info": runner.FromCLI, "warning": runner.FromCLI, "error": runner.FromCLI,
}

// addToolCall adds a tool call and its result. m contains the offset and the time of the line.
func (t *lineReader) addToolCall(c toolCall, m runner.Message) error {
	if !t.seen["use "+c.ID] {
		t.seen["use "+c.ID] = true
		use := m
		use.From, use.Tool = runner.FromTool, cmp.Or(c.Name, "tool")
		use.Input, use.Cut = transcripts.TruncateText(string(c.Args))
		if c.Agent != "" && c.ID != "" {
			var args struct {
				Name string `json:"agent_name"`
			}
			_ = json.Unmarshal(c.Args, &args, jsonstrict.Loose) // if this fails, the name stays empty
			name := cmp.Or(args.Name, c.Name, "agent")
			t.agents[c.ID] = subagent{name: name[:min(len(name), maxAgentName)], id: c.Agent}
		}
		if err := t.feed.AddToolUse(c.ID, use); err != nil {
			return err
		}
	}
	text := resultText(c.Result)
	if c.ID == "" || text == "" || t.seen["result "+c.ID] {
		return nil
	}
	t.seen["result "+c.ID] = true
	m.Text, m.Cut = transcripts.TruncateText(text)
	m.Failed = c.Status == "error"
	// The transcript contains only the text of an error and not its type.
	isHidden := strings.HasPrefix(text, `Tool "`+c.Name+`" not found`) && slices.Contains(builtIn, c.Name)
	m.Refused = m.Failed && (isHidden || isOutside(text) || strings.Contains(text[:min(len(text), 200)], "denied by policy"))
	return t.feed.AddToolResult(c.ID, m)
}

// maxAgentName is the maximum length of a subagent's name in bytes.
const maxAgentName = 100

// resultText returns the output or the error in a tool's result as text.
func resultText(result jsontext.Value) string {
	var parts []struct {
		Response struct {
			Response struct {
				Output jsontext.Value `json:"output"`
				Error  jsontext.Value `json:"error"`
			} `json:"response"`
		} `json:"functionResponse"`
	}
	if json.Unmarshal(result, &parts, jsonstrict.Loose) != nil {
		return ""
	}
	var texts []string
	for _, p := range parts {
		for _, value := range []jsontext.Value{p.Response.Response.Output, p.Response.Response.Error} {
			var text string
			if json.Unmarshal(value, &text, jsonstrict.Loose) != nil {
				text = string(value)
			}
			if text != "" {
				texts = append(texts, text)
			}
		}
	}
	return strings.Join(texts, "\n")
}
