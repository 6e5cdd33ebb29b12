package claude

import (
	"cmp"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/internal/untrusted/jsonstrict"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/transcripts"
)

// line contains the fields of a line in a transcript that are shown to users.
type line struct {
	Type    string         `json:"type"`
	Subtype string         `json:"subtype"`
	Time    string         `json:"timestamp"`
	Content jsontext.Value `json:"content"` // text of a line with the type "system"
	// IsMeta is true if the CLI itself wrote the line. IsSummary is true if the line is the summary of a
	// compacted conversation.
	IsMeta    bool   `json:"isMeta"`
	IsSummary bool   `json:"isCompactSummary"`
	Denied    string `json:"toolDenialKind"`
	Message   struct {
		Model   string         `json:"model"`
		Content jsontext.Value `json:"content"`
	} `json:"message"`
}

// messageReader returns a reader for the messages in the transcript at a path, and in the transcripts of
// its subagents.
func messageReader(path string) transcripts.MessageReader {
	agents := subagentsOf(path)
	return transcripts.MessageReader{
		LineHandler: func(feed *transcripts.Feed) func([]byte, runner.Message) error {
			return func(text []byte, m runner.Message) error {
				var l line
				if json.Unmarshal(text, &l, jsonstrict.Loose) != nil || l.Type != "user" && l.Type != "assistant" && l.Type != "system" {
					return nil
				}
				m.Time = transcripts.ParseTime(l.Time)
				return l.addTo(feed, m)
			}
		},
		Subagent: func(use string) (path, name string) { return agents[use].path, agents[use].name },
	}
}

// addTo adds the messages in a line to feed. m contains the fields that these messages have in common.
func (l *line) addTo(feed *transcripts.Feed, m runner.Message) error {
	if l.Type == "system" {
		m.From = runner.FromCLI
		m.Text, m.Cut = transcripts.TruncateText(textOf(l.Content))
		if m.Text == "" {
			return nil
		}
		return feed.Add(m)
	}
	switch {
	case l.IsMeta, l.IsSummary, l.Message.Model == synthetic:
		m.From = runner.FromCLI
	case l.Type == "user":
		m.From = runner.FromUser
	default:
		m.From, m.Model = runner.FromAgent, l.Message.Model
	}
	for _, b := range blocksOf(l.Message.Content) {
		if err := l.addBlockTo(feed, m, b); err != nil {
			return err
		}
	}
	return nil
}

// addBlockTo adds one part of a line's message to feed.
func (l *line) addBlockTo(feed *transcripts.Feed, m runner.Message, b block) error {
	switch b.Type {
	case "text":
		if b.Text == "" {
			return nil
		}
		if strings.HasPrefix(b.Text, "<system-reminder>") {
			m.From = runner.FromCLI
		}
		m.Text, m.Cut = transcripts.TruncateText(b.Text)
		return feed.Add(m)
	case "tool_use":
		m.From, m.Tool = runner.FromTool, cmp.Or(b.Name, "tool")
		m.Input, m.Cut = transcripts.TruncateText(string(b.Input))
		return feed.AddToolUse(b.ID, m)
	case "tool_result":
		m.Text, m.Cut = transcripts.TruncateText(textOf(b.Content))
		m.Failed, m.Refused = b.Failed, l.Denied == "user-rejected" || l.Denied == "permission-rule"
		return feed.AddToolResult(b.Use, m)
	case "image", "document":
		m.Text = "[" + b.Type + "]"
		return feed.Add(m)
	}
	return nil
}

// blocksOf returns the parts of a message. If the message is a plain string, it is returned as one part.
func blocksOf(content jsontext.Value) []block {
	if content.Kind() == '"' {
		return []block{{Type: "text", Text: textOf(content)}}
	}
	var list []block
	_ = json.Unmarshal(content, &list, lenient) // parts that can't be decoded are omitted
	return list
}

// textOf returns the text of a message: the message itself if it is a plain string, or else the texts of its
// parts, joined by line feeds. The text of an image or a document is "[image]" or "[document]".
func textOf(content jsontext.Value) string {
	if content.Kind() == '"' {
		var text string
		_ = json.Unmarshal(content, &text, jsonstrict.Loose) // text stays empty if the content can't be decoded
		return text
	}
	var texts []string
	for _, b := range blocksOf(content) {
		switch b.Type {
		case "text":
			texts = append(texts, b.Text)
		case "image", "document":
			texts = append(texts, "["+b.Type+"]")
		}
	}
	return strings.Join(texts, "\n")
}

// Limits for reading information about the subagents of a session.
const (
	maxSubagents = 10_000
	maxMeta      = 64 << 10 // size of a metadata file in bytes
	maxName      = 100      // length of a name in bytes
)

// subagent is an agent that a session started with a tool call. The CLI stores its conversation in a
// separate file, path.
type subagent struct{ name, path string }

// subagentsOf returns the subagents of the session with the given transcript, by the ids of the tool
// calls that started them. It doesn't follow symbolic links.
func subagentsOf(path string) map[string]subagent {
	all := map[string]subagent{}
	own := strings.TrimSuffix(path, ".jsonl")
	folder := filepath.Join(own, "subagents")
	if !transcripts.IsFolder(own) || !transcripts.IsFolder(folder) {
		return all
	}
	found := transcripts.Glob(folder, "agent-*.meta.json")
	for _, meta := range found[:min(len(found), maxSubagents)] {
		data, _, err := files.Read(meta, maxMeta)
		if err != nil {
			continue
		}
		var m struct {
			Type        string `json:"agentType"`
			Description string `json:"description"`
			Use         string `json:"toolUseId"`
		}
		if json.Unmarshal(data, &m, jsonstrict.Loose) != nil || m.Use == "" {
			continue
		}
		title := cmp.Or(m.Description, m.Type, "agent")
		all[m.Use] = subagent{name: title[:min(len(title), maxName)], path: strings.TrimSuffix(meta, ".meta.json") + ".jsonl"}
	}
	return all
}
