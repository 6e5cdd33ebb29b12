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

// line is a line of a transcript, as far as it is shown to people.
type line struct {
	said
	Time  string   `json:"timestamp"`
	Calls []called `json:"toolCalls"`
}

// called is a use of a tool, in the message in which the model asked for it.
type called struct {
	ID     string         `json:"id"`
	Name   string         `json:"name"`
	Args   jsontext.Value `json:"args"`
	Status string         `json:"status"`
	Result jsontext.Value `json:"result"`
	Agent  string         `json:"agentId"` // that the use has started
}

// agent is an agent that a use of a tool has started. The CLI keeps its conversation in a file
// of its own.
type agent struct{ name, id string }

// tellerOf tells the messages of a transcript.
func tellerOf(path string) transcripts.MessageReader {
	folder, agents := filepath.Join(filepath.Dir(path), idOf(path)), map[string]agent{}
	return transcripts.MessageReader{
		LineHandler: func(feed *transcripts.Feed) func([]byte, runner.Message) error {
			return (&teller{feed: feed, agents: agents, told: map[string]bool{}}).line
		},
		Subagent: func(use string) (path, name string) {
			if a := agents[use]; transcripts.IsUUID(a.id) {
				return filepath.Join(folder, a.id+".jsonl"), a.name
			}
			return "", ""
		},
	}
}

// teller hands over what the lines of one transcript say.
type teller struct {
	feed   *transcripts.Feed
	agents map[string]agent
	told   map[string]bool // ids of messages, and of uses of tools that have brought something
}

// line takes a line. The CLI writes a message again when tools have brought something.
func (t *teller) line(text []byte, m runner.Message) error {
	var l line
	if json.Unmarshal(text, &l, jsonstrict.Loose) != nil || len(t.told) > transcripts.MaxMessages || speakers[l.Type] == "" {
		return nil
	}
	m.From, m.Time = speakers[l.Type], transcripts.ParseTime(l.Time)
	if m.From == runner.FromAgent {
		m.Model = l.Model
	}
	if text := l.text(); text != "" && (l.ID == "" || !t.told["message "+l.ID]) {
		t.told["message "+l.ID] = true
		m := m
		m.Text, m.Cut = transcripts.TruncateText(text)
		if err := t.feed.Add(m); err != nil {
			return err
		}
	}
	for _, c := range l.Calls {
		if err := t.call(c, m); err != nil {
			return err
		}
	}
	return nil
}

// speakers are whose the messages of each type are.
var speakers = map[string]runner.Speaker{
	"user": runner.FromUser, "gemini": runner.FromAgent, "info": runner.FromCLI, "warning": runner.FromCLI, "error": runner.FromCLI,
}

// call takes a use of a tool; m has its place.
func (t *teller) call(c called, m runner.Message) error {
	if !t.told["use "+c.ID] {
		t.told["use "+c.ID] = true
		use := m
		use.From, use.Tool = runner.FromTool, cmp.Or(c.Name, "tool")
		use.Input, use.Cut = transcripts.TruncateText(string(c.Args))
		if c.Agent != "" && c.ID != "" {
			var args struct {
				Name string `json:"agent_name"`
			}
			_ = json.Unmarshal(c.Args, &args, jsonstrict.Loose) // it has no name then
			name := cmp.Or(args.Name, c.Name, "agent")
			t.agents[c.ID] = agent{name: name[:min(len(name), maxName)], id: c.Agent}
		}
		if err := t.feed.AddToolUse(c.ID, use); err != nil {
			return err
		}
	}
	text := brought(c.Result)
	if c.ID == "" || text == "" || t.told["result "+c.ID] {
		return nil
	}
	t.told["result "+c.ID] = true
	m.Text, m.Cut = transcripts.TruncateText(text)
	m.Failed = c.Status == "error"
	// The transcript has the words alone.
	isHidden := strings.HasPrefix(text, `Tool "`+c.Name+`" not found`) && slices.Contains(builtIn, c.Name)
	m.Refused = m.Failed && (isHidden || isOutside(text) || strings.Contains(text[:min(len(text), 200)], "denied by policy"))
	return t.feed.AddToolResult(c.ID, m)
}

// maxName is how long the name of an agent may be, in bytes.
const maxName = 100

// brought is what a tool brought.
func brought(result jsontext.Value) string {
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
