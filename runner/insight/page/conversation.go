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

// foldedLines is the number of lines from which on a message of the user is folded.
const foldedLines = 40

// shownMessage is a message of a conversation, or a group of messages of a subagent.
type shownMessage struct {
	Kind    string // user, agent, tool, cli; sub for a subagent; note for Brief alone; gap for Lines messages that were left out
	Time    time.Time
	Model   string // if it differs from the previous message
	Text    []block
	Tool    string
	Brief   string // summary of a folded message
	Fields  []pair // input of a tool
	Output  string
	Verdict string // "failed" or "refused", for a tool
	IsLong  bool
	Lines   int
	Cut     int64
	Inner   []shownMessage
}

// block is a part of a text: "words", "code", or the "tag" at its end.
type block struct{ Kind, Text string }

// messagesBetween returns the messages of an execution with the indexes from up to, but not
// including, to, as they are shown.
func messagesBetween(e *report.Exec, from, to int) []shownMessage {
	if e.Gap == nil || e.Gap.After < from || e.Gap.After >= to {
		return conversation(e.Messages[from:to])
	}
	first, last := conversation(e.Messages[from:e.Gap.After]), conversation(e.Messages[e.Gap.After:to])
	return slices.Concat(first, []shownMessage{{Kind: "gap", Lines: e.Gap.Messages}}, last)
}

// conversation returns messages as they are shown. Consecutive messages of a subagent become one
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

// toolInput returns the input of a tool: the fields of a JSON object, or the whole text. brief is
// the most important field.
func toolInput(text string) (fields []pair, brief string) {
	dec := jsontext.NewDecoder(strings.NewReader(text), jsonstrict.Loose)
	begin, err := dec.ReadToken()
	isObject := err == nil && begin.Kind() == '{'
	for isObject && dec.PeekKind() == '"' {
		name, _ := dec.ReadToken() // an error is reported again with the value
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

// fieldText returns a string unchanged, and other values as JSON.
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

// mainFields are names of input fields that describe a tool use, best first.
var mainFields = []string{"command", "cmd", "file_path", "pattern", "query", "url", "path", "description", "prompt"}

// mainField returns a summary of the most important field.
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

// splitText splits a text at the fences of its code blocks, and before a tag in its last line.
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
