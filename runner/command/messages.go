package command

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/raymond-action/raymond-action/internal/untrusted/jsonstrict"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/transcripts"
)

// fileLine contains the fields of a line in a conversation file that most programs use.
type fileLine struct {
	Role    string         `json:"role"`
	Time    string         `json:"time"`
	Model   string         `json:"model"`
	Text    string         `json:"text"`
	Content jsontext.Value `json:"content"`
	Name    string         `json:"name"`
	Input   jsontext.Value `json:"input"`
}

// roles maps the role in a line to the speaker of its message.
var roles = map[string]runner.Speaker{
	"user": runner.FromUser, "assistant": runner.FromAgent, "model": runner.FromAgent, "agent": runner.FromAgent, "tool": runner.FromTool,
}

// messageReader returns a reader for the messages in a conversation file. A line in the format of
// docs/agent-command.md becomes a message from the speaker that its role names. Any other line is shown
// unchanged as a message of the CLI.
func messageReader(string) transcripts.MessageReader {
	return transcripts.MessageReader{LineHandler: func(feed *transcripts.Feed) func([]byte, runner.Message) error {
		return func(line []byte, m runner.Message) error {
			if len(bytes.TrimSpace(line)) == 0 {
				return nil
			}
			return feed.Add(messageOf(m.Offset, line))
		}
	}}
}

// messageOf converts a line into a message. at is the offset of the line in the file.
func messageOf(at int64, line []byte) runner.Message {
	m := runner.Message{Offset: at, From: runner.FromCLI}
	var k fileLine
	if json.Unmarshal(line, &k, jsonstrict.Loose, json.MatchCaseInsensitiveNames(true)) != nil || roles[k.Role] == "" {
		m.Text, m.Cut = transcripts.TruncateText(strings.ToValidUTF8(string(line), "\uFFFD"))
		return m
	}
	m.From, m.Time = roles[k.Role], transcripts.ParseTime(k.Time)
	if m.From == runner.FromAgent {
		m.Model = k.Model
	}
	text, cut := transcripts.TruncateText(k.Text + transcripts.TextOf(k.Content))
	m.Text, m.Cut = text, cut
	if m.From == runner.FromTool {
		m.Tool = k.Name
		m.Input, cut = transcripts.TruncateText(string(k.Input))
		m.Cut += cut
	}
	return m
}
