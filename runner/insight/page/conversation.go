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

// longText is from how many lines on a message of the user is folded.
const longText = 40

// said is a message of a conversation, or those of a subagent.
type said struct {
	Kind    string // user, agent, tool, cli, sub, note for Brief alone, or gap for Lines messages that were left out
	Time    time.Time
	Model   string // where it is another one than before
	Text    []prose
	Tool    string
	Brief   string // what a folded message is about
	Fields  []pair // what a tool was given
	Output  string
	Verdict string // "failed" or "refused", of a tool
	IsLong  bool
	Lines   int
	Cut     int64
	Inner   []said
}

// prose is a part of a text: "words", "code", or the "tag" that ends it.
type prose struct{ Kind, Text string }

// talkOf returns some of what was said in an execution as it is shown.
func talkOf(e *report.Exec, from, to int) []said {
	if e.Gap == nil || e.Gap.After < from || e.Gap.After >= to {
		return conversation(e.Messages[from:to])
	}
	first, last := conversation(e.Messages[from:e.Gap.After]), conversation(e.Messages[e.Gap.After:to])
	return slices.Concat(first, []said{{Kind: "gap", Lines: e.Gap.Messages}}, last)
}

// conversation returns messages as they are shown: each row of those of one subagent as one.
func conversation(messages []runner.Message) []said {
	var out []said
	model := ""
	for i := 0; i < len(messages); i++ {
		m := messages[i]
		if m.Subagent == "" {
			s := newSaid(m)
			if s.Model == model {
				s.Model = ""
			}
			model = cmp.Or(s.Model, model)
			out = append(out, s)
			continue
		}
		sub := said{Kind: "sub", Tool: shortText(m.Subagent), Time: m.Time}
		for ; i < len(messages) && messages[i].Subagent == m.Subagent; i++ {
			sub.Inner = append(sub.Inner, newSaid(messages[i]))
		}
		i--
		sub.Lines = len(sub.Inner)
		out = append(out, sub)
	}
	return out
}

func newSaid(m runner.Message) said {
	s := said{Kind: string(m.From), Time: m.Time, Model: shortText(m.Model), Cut: m.Cut}
	s.Lines = lines(m.Text)
	if m.From == runner.FromTool {
		s.Tool, s.Output = shortText(m.Tool), strings.TrimRight(m.Text, "\n")
		s.Fields, s.Brief = input(m.Input)
		switch {
		case m.Refused:
			s.Verdict = "refused"
		case m.Failed:
			s.Verdict = "failed"
		}
		return s
	}
	s.Text = blocks(m.Text)
	s.IsLong = s.Lines > longText || len(m.Text) > 80*longText
	s.Brief = shortText(m.Text)
	return s
}

// input returns what a tool was given: the fields of an object, or all as it is. Brief is
// the one that says most.
func input(text string) (fields []pair, brief string) {
	dec := jsontext.NewDecoder(strings.NewReader(text), jsonstrict.Loose)
	begin, err := dec.ReadToken()
	isObject := err == nil && begin.Kind() == '{'
	for isObject && dec.PeekKind() == '"' {
		name, _ := dec.ReadToken() // an error comes again with the value
		field := pair{Name: shown(name.String())}
		value, err := dec.ReadValue()
		field.Value, isObject = fieldText(json.RawMessage(value)), err == nil
		fields = append(fields, field)
	}
	switch {
	case isObject && dec.PeekKind() == '}':
		return fields, tellingField(fields)
	case strings.TrimSpace(text) == "":
		return nil, ""
	}
	return []pair{{"", text}}, shortText(text)
}

// fieldText returns a string as it is, and anything else as JSON.
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

// tellingFields are names of fields that say what a use of a tool is about, best first.
var tellingFields = []string{"command", "cmd", "file_path", "pattern", "query", "url", "path", "description", "prompt"}

func tellingField(fields []pair) string {
	for _, name := range tellingFields {
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

// blocks splits a text at the fences of its code blocks, and before a tag on its last line.
func blocks(s string) []prose {
	var out []prose
	var b strings.Builder
	isCode := false
	flush := func() {
		text := strings.Trim(b.String(), "\n")
		switch {
		case text == "":
		case isCode:
			out = append(out, prose{"code", text})
		default:
			out = append(out, prose{"words", text})
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
			out[n] = prose{"tag", tag}
			if before != "" {
				out = slices.Insert(out, n, prose{"words", before})
			}
		}
	}
	return out
}
