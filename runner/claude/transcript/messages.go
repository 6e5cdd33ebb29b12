package transcript

import (
	"cmp"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/tally"
	"github.com/raymond-action/raymond-action/runner/transcripts"
)

// line is a line of a transcript, as far as it is shown to people.
type line struct {
	Type    string         `json:"type"`
	Subtype string         `json:"subtype"`
	Time    moment         `json:"timestamp"`
	Content jsontext.Value `json:"content"` // of a system line
	// IsMeta says that the CLI has put the line there, and IsSummary that it is what a
	// conversation was compacted to.
	IsMeta    bool   `json:"isMeta"`
	IsSummary bool   `json:"isCompactSummary"`
	Denied    string `json:"toolDenialKind"`
	// IsAside says that the line is of an agent that the conversation has started, as older
	// versions wrote them between those of the conversation.
	IsAside bool `json:"isSidechain"`
	Message struct {
		Model   string         `json:"model"`
		Content jsontext.Value `json:"content"`
	} `json:"message"`
}

// moment is a time, the zero one for what is none.
type moment time.Time

// UnmarshalText implements encoding.TextUnmarshaler.
func (m *moment) UnmarshalText(text []byte) error {
	at, err := time.Parse(time.RFC3339Nano, string(text))
	if err == nil {
		*m = moment(at.UTC())
	}
	return nil
}

// block is a part of a message.
type block struct {
	Type    string         `json:"type"`
	Text    string         `json:"text"`
	ID      string         `json:"id"`
	Name    string         `json:"name"`
	Input   jsontext.Value `json:"input"`
	Use     string         `json:"tool_use_id"`
	Content jsontext.Value `json:"content"`
	IsError bool           `json:"is_error"`
}

// Read calls each with the messages of a session, as runner.Transcripts says. The messages of
// an agent that the session started come after the use of the tool that has started it, with
// its place.
func (d Folder) Read(c runner.Conversation, from, to int64, each func(runner.Message) error) error {
	path, ok := d.Path(c.ID, c.Dir)
	if !ok {
		return gone(c.ID)
	}
	r := reader{subagents: subagentsOf(path), each: each}
	return r.read(path, from, to, nil)
}

// gone is the error of a session without a transcript.
func gone(session string) error {
	return fmt.Errorf("session %.80q has no transcript here: %w", session, fs.ErrNotExist)
}

// reader reads one transcript and those of the agents that it tells of.
type reader struct {
	subagents map[string]subagent // by the use of the tool; one is read once
	each      func(runner.Message) error
}

// read reads the messages of a transcript; of that of another agent, all have the place of the
// use of the tool that has started it.
func (r *reader) read(path string, from, to int64, of *origin) error {
	feed := transcripts.NewFeed(func(use string, m runner.Message) error {
		if of != nil {
			m.Offset, m.Subagent = of.at, of.name
		}
		if err := r.each(m); err != nil || use == "" {
			return err
		}
		return r.follow(use, m.Offset)
	})
	err := transcripts.Read(path, from, to, func(at int64, text []byte, truncated bool) error {
		if t := TypeOf(text); t != "user" && t != "assistant" && t != "system" {
			return nil
		}
		var l line
		if truncated {
			return feed.Say(runner.Message{Offset: at, From: runner.FromCLI, Cut: int64(len(text))})
		}
		if json.Unmarshal(text, &l, tally.Loose) != nil {
			return nil
		}
		m := runner.Message{Offset: at, Time: time.Time(l.Time)}
		if l.IsAside && of == nil {
			m.Subagent = "agent"
		}
		return l.tell(feed, m)
	})
	if err != nil {
		return err
	}
	return feed.Flush()
}

// origin is where an agent was started.
type origin struct {
	at   int64
	name string
}

// follow reads the transcript of the agent that a use of a tool has started.
func (r *reader) follow(use string, at int64) error {
	s, ok := r.subagents[use]
	if !ok {
		return nil
	}
	delete(r.subagents, use)
	if !transcripts.IsFile(s.path) {
		return nil
	}
	return r.read(s.path, 0, -1, &origin{at: at, name: s.name})
}

// tell hands over the messages of a line; m has what is the same for all.
func (l *line) tell(feed *transcripts.Feed, m runner.Message) error {
	if l.Type == "system" {
		m.From = runner.FromCLI
		m.Text, m.Cut = transcripts.Bounded(textOf(l.Content))
		if m.Text == "" {
			return nil
		}
		return feed.Say(m)
	}
	m.From = l.speaker()
	if m.From == runner.FromAgent {
		m.Model = l.Message.Model
	}
	for _, b := range blocksOf(l.Message.Content) {
		if err := l.tellBlock(feed, m, b); err != nil {
			return err
		}
	}
	return nil
}

// speaker says whose the texts of a line are.
func (l *line) speaker() runner.Speaker {
	switch {
	case l.IsMeta, l.IsSummary, l.Message.Model == Synthetic:
		return runner.FromCLI
	case l.Type == "user":
		return runner.FromUser
	}
	return runner.FromAgent
}

func (l *line) tellBlock(feed *transcripts.Feed, m runner.Message, b block) error {
	switch b.Type {
	case "text":
		if b.Text == "" {
			return nil
		}
		if strings.HasPrefix(b.Text, "<system-reminder>") {
			m.From = runner.FromCLI
		}
		m.Text, m.Cut = transcripts.Bounded(b.Text)
		return feed.Say(m)
	case "tool_use":
		m.From, m.Tool = runner.FromTool, cmp.Or(b.Name, "tool")
		m.Input, m.Cut = transcripts.Bounded(string(b.Input))
		return feed.Use(b.ID, m)
	case "tool_result":
		m.Text, m.Cut = transcripts.Bounded(textOf(b.Content))
		m.Failed, m.Refused = b.IsError, l.isRefused()
		return feed.Brought(b.Use, m)
	case "image", "document":
		m.Text = "[" + b.Type + "]"
		return feed.Say(m)
	}
	return nil
}

// isRefused reports whether a use of a tool was refused, as the line with its result says.
func (l *line) isRefused() bool { return l.Denied == "user-rejected" || l.Denied == "permission-rule" }

// blocksOf are the parts of a message, of which a text is one.
func blocksOf(content jsontext.Value) []block {
	if content.Kind() == '"' {
		return []block{{Type: "text", Text: textOf(content)}}
	}
	var list []block
	_ = json.Unmarshal(content, &list, tally.Loose) // what can't be read is left out
	return list
}

// textOf is a text, or the texts among the parts of a message.
func textOf(content jsontext.Value) string {
	if content.Kind() == '"' {
		var text string
		_ = json.Unmarshal(content, &text, tally.Loose) // it is "" then
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
