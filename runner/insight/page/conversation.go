package page

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/raymond-action/raymond-action/internal/untrusted/jsonstrict"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/report"
)

// foldedLines is the maximum number of lines of a text that is shown unfolded.
const foldedLines = 40

// shownMessage is a message of a conversation in the form that the template needs, or a group of a
// subagent's messages, a note, or a gap.
type shownMessage struct {
	// Kind is "user", "agent", "tool" or "cli" for a message; "sub" for a subagent's messages,
	// which are in Inner; "note" for a message that consists of Brief only; "gap" for messages that
	// were left out, whose number is in Lines.
	Kind   string
	Time   time.Time
	Model  string // empty if the previous message has the same model
	Text   []block
	Tool   string
	Brief  string // summary of a folded message
	Fields []pair // input of the tool
	Output string
	// Verdict is "failed", "refused" or empty. It is only set for a tool.
	Verdict string
	IsLong  bool
	Lines   int
	Cut     int64
	Inner   []shownMessage
}

// block is a section of a text. In a message, its Kind is "words", "code", or "tag" for the tag at the
// end. In a diff, it is the kind of the lines.
type block struct{ Kind, Text string }

// messagesBetween converts e.Messages[from:to] for the page. If messages were left out within this
// range, the result also contains a gap.
func messagesBetween(e *report.Exec, from, to int) []shownMessage {
	if e.Gap == nil || e.Gap.After < from || e.Gap.After >= to {
		return conversation(e.Messages[from:to])
	}
	first, last := conversation(e.Messages[from:e.Gap.After]), conversation(e.Messages[e.Gap.After:to])
	return slices.Concat(first, []shownMessage{{Kind: "gap", Lines: e.Gap.Messages}}, last)
}

// conversation converts messages for the page. Consecutive messages of one subagent become one
// group.
func conversation(messages []runner.Message) []shownMessage {
	var out []shownMessage
	model := ""
	for i := 0; i < len(messages); i++ {
		m := messages[i]
		if m.Subagent == "" {
			s := newMessage(m)
			if s.Model == model {
				s.Model = ""
			}
			model = cmp.Or(s.Model, model)
			out = append(out, s)
			continue
		}
		sub := shownMessage{Kind: "sub", Tool: shortText(m.Subagent), Time: m.Time}
		for ; i < len(messages) && messages[i].Subagent == m.Subagent; i++ {
			sub.Inner = append(sub.Inner, newMessage(messages[i]))
		}
		i--
		sub.Lines = len(sub.Inner)
		out = append(out, sub)
	}
	return out
}

// newMessage converts one message for the page.
func newMessage(m runner.Message) shownMessage {
	s := shownMessage{Kind: string(m.From), Time: m.Time, Model: shortText(m.Model), Cut: m.Cut}
	s.Lines = lines(m.Text)
	if m.From == runner.FromTool {
		s.Tool, s.Output = shortText(m.Tool), strings.TrimRight(m.Text, "\n")
		s.Fields, s.Brief = toolInput(m.Input)
		switch {
		case m.Refused:
			s.Verdict = "refused"
		case m.Failed:
			s.Verdict = "failed"
		}
		return s
	}
	s.Text = splitText(m.Text)
	s.IsLong = s.Lines > foldedLines || len(m.Text) > 80*foldedLines
	s.Brief = shortText(m.Text)
	return s
}

// toolInput returns the fields of a tool's input. Input that is not a JSON object becomes one field
// without a name. brief is a short form of the most important field.
func toolInput(text string) (fields []pair, brief string) {
	dec := jsontext.NewDecoder(strings.NewReader(text), jsonstrict.Loose)
	begin, err := dec.ReadToken()
	isObject := err == nil && begin.Kind() == '{'
	for isObject && dec.PeekKind() == '"' {
		name, _ := dec.ReadToken() // if this fails, ReadValue returns the same error
		field := pair{Name: shown(name.String())}
		value, err := dec.ReadValue()
		field.Value, isObject = fieldText(json.RawMessage(value)), err == nil
		fields = append(fields, field)
	}
	switch {
	case isObject && dec.PeekKind() == '}':
		return fields, mainField(fields)
	case strings.TrimSpace(text) == "":
		return nil, ""
	}
	return []pair{{"", text}}, shortText(text)
}

// fieldText returns the text of a JSON string, and other values as indented JSON.
func fieldText(value json.RawMessage) string {
	var s string
	if json.Unmarshal(value, &s) == nil {
		return shown(s)
	}
	var b bytes.Buffer
	if json.Indent(&b, value, "", "  ") != nil {
		return shown(string(value))
	}
	return shown(b.String())
}

// mainFields are names of input fields that describe a tool call well, the best ones first.
var mainFields = []string{"command", "cmd", "file_path", "pattern", "query", "url", "path", "description", "prompt"}

// mainField returns a short form of the field that describes a tool call best.
func mainField(fields []pair) string {
	for _, name := range mainFields {
		for _, f := range fields {
			if f.Name == name {
				return shortText(f.Value)
			}
		}
	}
	if len(fields) > 0 {
		return shortText(fields[0].Value)
	}
	return ""
}

// splitText splits a text into blocks: at the fences of code blocks, and before a last line that
// consists of a tag.
func splitText(s string) []block {
	var out []block
	var b strings.Builder
	isCode := false
	flush := func() {
		text := strings.Trim(b.String(), "\n")
		switch {
		case text == "":
		case isCode:
			out = append(out, block{"code", text})
		default:
			out = append(out, block{"words", text})
		}
		b.Reset()
	}
	for line := range strings.Lines(s) {
		if strings.HasPrefix(strings.TrimLeft(line, " "), "```") {
			flush()
			isCode = !isCode
			continue
		}
		b.WriteString(line)
	}
	flush()
	if n := len(out) - 1; n >= 0 && out[n].Kind == "words" {
		at := strings.LastIndexByte(out[n].Text, '\n') + 1
		before, tag := strings.TrimRight(out[n].Text[:at], "\n"), strings.TrimSpace(out[n].Text[at:])
		if strings.HasPrefix(tag, "<") && strings.HasSuffix(tag, ">") {
			out[n] = block{"tag", tag}
			if before != "" {
				out = slices.Insert(out, n, block{"words", before})
			}
		}
	}
	return out
}
