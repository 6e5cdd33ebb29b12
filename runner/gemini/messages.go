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
	"github.com/raymond-action/raymond-action/runner/internal/program"
	"github.com/raymond-action/raymond-action/runner/keyproxy"
	"github.com/raymond-action/raymond-action/runner/transcripts"
	"github.com/raymond-action/raymond-action/state"
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
	if text := transcripts.TextOf(l.Content); text != "" && (l.ID == "" || !t.seen["message "+l.ID]) {
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

// message is a message in a transcript. If the CLI gets more data about a message, it writes the
// message again.
type message struct {
	ID      string         `json:"id"`
	Type    string         `json:"type"` // "user" or "gemini"; messages of other types are notes
	Model   string         `json:"model"`
	Content jsontext.Value `json:"content"` // a string or a list of content blocks
	Tokens  jsontext.Value `json:"tokens"`
}

// messageLayout describes how a transcript counts the tokens of one message.
var messageLayout = keyproxy.Layout{Input: []string{"input", "tool"}, Output: []string{"output", "thoughts"}, CacheRead: "cached", InputIncludesCache: true}

// isConversation reports whether the message is from the user or the model.
func (m message) isConversation() bool { return m.Type == "user" || m.Type == "gemini" }

// usageFrom returns the tokens in a transcript from a byte offset on, for each model. If the
// transcript contains a message several times, the last one counts.
func usageFrom(path string, from int64) ([]state.Usage, error) {
	return transcripts.SumUsage(path, from, func(line []byte) (string, state.Usage, bool) {
		var m message
		if json.Unmarshal(line, &m, jsonstrict.Loose) != nil || !m.isConversation() {
			return "", state.Usage{}, false
		}
		return m.ID, messageLayout.Usage(m.Tokens, m.Model), true
	})
}

// Words contains the keywords of the transcript format, separated by spaces. They must not be
// masked as secrets, because then the CLI could not read its transcripts.
const Words = "sessionId projectHash type user gemini content text toolCalls $set messages id"

// record is one line of the CLI's output. The comment after a field names the types of records that
// contain the field.
type record struct {
	Type      string `json:"type"`
	SessionID string `json:"session_id"` // init
	Model     string `json:"model"`      // init

	Role    string `json:"role"` // message
	Content string `json:"content"`

	Tool       string         `json:"tool_name"` // tool_use
	Use        string         `json:"tool_id"`   // tool_use and tool_result
	Parameters jsontext.Value `json:"parameters"`

	Status   string         `json:"status"` // tool_result, result: "success" or "error"
	Output   string         `json:"output"`
	Error    recordError    `json:"error"`
	Severity string         `json:"severity"` // error
	Message  string         `json:"message"`
	Stats    jsontext.Value `json:"stats"` // result
}

// recordError is the reason for a failure.
type recordError struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}

// resultLayout describes how the CLI's result counts the tokens of one model.
var resultLayout = keyproxy.Layout{Input: []string{"input_tokens"}, Output: []string{"output_tokens"}, CacheRead: "cached", InputIncludesCache: true}

// lenient contains the options for decoding records. Texts of a model or a tool may contain
// duplicate names and invalid UTF-8. A field with an unexpected type is skipped.
var lenient = json.JoinOptions(jsonstrict.Loose, json.WithUnmarshalers(json.JoinUnmarshalers(
	program.SkipMistyped[string](`"`), program.SkipMistyped[recordError]("{"),
)))

// mainInputs are the names of the inputs that describe a tool call well, the best ones first.
var mainInputs = []string{"command", "file_path", "absolute_path", "path", "dir_path", "url", "prompt", "query", "pattern", "name"}
