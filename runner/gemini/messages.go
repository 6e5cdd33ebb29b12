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

// transcriptLine is a line of a transcript, reduced to the fields that people see.
type transcriptLine struct {
	message
	Time  string     `json:"timestamp"`
	Calls []toolCall `json:"toolCalls"`
}

// toolCall is a tool use, in the message in which the model requested it.
type toolCall struct {
	ID     string         `json:"id"`
	Name   string         `json:"name"`
	Args   jsontext.Value `json:"args"`
	Status string         `json:"status"`
	Result jsontext.Value `json:"result"`
	Agent  string         `json:"agentId"` // id of the subagent that the call started
}

// subagent is an agent that a tool use has started. The CLI stores its conversation in a separate
// file.
type subagent struct{ name, id string }

// messageReader reads the messages of a transcript.
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

// lineReader reads the lines of one transcript.
type lineReader struct {
	feed   *transcripts.Feed
	agents map[string]subagent
	seen   map[string]bool // messages, tool uses and results that were passed on, by kind and id
}

// line handles a line. The CLI writes a message again when its tools have returned results.
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

// speakers maps types of messages to who sent them.
var speakers = map[string]runner.Speaker{
	"user": runner.FromUser, "gemini": runner.FromAgent, "info": runner.FromCLI, "warning": runner.FromCLI, "error": runner.FromCLI,
}

// addToolCall passes on a tool use and its result; m has the offset and the time of the line.
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
			_ = json.Unmarshal(c.Args, &args, jsonstrict.Loose) // the name stays empty on error
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
	// The transcript has only the text of an error, not its type.
	isHidden := strings.HasPrefix(text, `Tool "`+c.Name+`" not found`) && slices.Contains(builtIn, c.Name)
	m.Refused = m.Failed && (isHidden || isOutside(text) || strings.Contains(text[:min(len(text), 200)], "denied by policy"))
	return t.feed.AddToolResult(c.ID, m)
}

// maxAgentName is the maximum length of a subagent's name in bytes.
const maxAgentName = 100

// resultText returns the output of a tool.
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
