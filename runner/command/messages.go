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

// kept is a line of the file of a conversation, as far as programs agree on one.
type kept struct {
	Role    string         `json:"role"`
	Time    string         `json:"time"`
	Model   string         `json:"model"`
	Text    string         `json:"text"`
	Content jsontext.Value `json:"content"`
	Name    string         `json:"name"`
	Input   jsontext.Value `json:"input"`
}

// roles are whose a message with a role is.
var roles = map[string]runner.Speaker{
	"user": runner.FromUser, "assistant": runner.FromAgent, "model": runner.FromAgent, "agent": runner.FromAgent, "tool": runner.FromTool,
}

// teller tells the messages of a file. Lines as in docs/agent-command.md are messages of theirs, and others are shown
// as they are.
func teller(string) transcripts.MessageReader {
	return transcripts.MessageReader{LineHandler: func(feed *transcripts.Feed) func([]byte, runner.Message) error {
		return func(line []byte, m runner.Message) error {
			if len(bytes.TrimSpace(line)) == 0 {
				return nil
			}
			return feed.Add(messageOf(m.Offset, line))
		}
	}}
}

// messageOf is the message that a line has.
func messageOf(at int64, line []byte) runner.Message {
	m := runner.Message{Offset: at, From: runner.FromCLI}
	var k kept
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
