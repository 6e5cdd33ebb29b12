package codex

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/raymond-action/raymond-action/internal/untrusted/jsonstrict"
	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/runner/transcripts"
)

// refusedUse is a use of a tool that the CLI has refused. Its stream does not tell of them.
type refusedUse struct {
	Tool, Input string // Input may be long, and is the model's
	Reason      string // in the CLI's words
}

// The limits of what is kept while a rollout is looked through.
const (
	maxCalls = 1000 // uses of tools
	maxInput = 8192 // bytes of the input of one
)

// reasons are what outputs of tools begin with whose use was refused.
var reasons = []string{"patch rejected: ", "approval policy is Never; reject command"}

// called is a line with a use of a tool, or with what it brought.
type called struct {
	Type    string `json:"type"`
	Payload call   `json:"payload"`
}

// call is a use of a tool, or what it brought.
type call struct {
	Type      string         `json:"type"`
	ID        string         `json:"call_id"`
	Name      string         `json:"name"`
	Input     string         `json:"input"`
	Arguments string         `json:"arguments"`
	Output    jsontext.Value `json:"output"`
}

// readRefused returns the uses of tools that a rollout shows as refused from a byte on.
func readRefused(path string, from int64) []refusedUse {
	calls, list := map[string]refusedUse{}, []refusedUse(nil)
	_ = transcripts.Read(path, from, -1, func(_ int64, text []byte, truncated bool) error {
		if truncated || !bytes.Contains(text, []byte(`"call_id"`)) {
			return nil
		}
		var l called
		if json.Unmarshal(text, &l, jsonstrict.Loose) != nil || l.Type != "response_item" {
			return nil
		}
		p := l.Payload
		switch {
		case strings.HasSuffix(p.Type, "_call") && len(calls) < maxCalls:
			input := p.Input + p.Arguments
			calls[p.ID] = refusedUse{Tool: p.Name, Input: input[:min(len(input), maxInput)]}
		case strings.HasSuffix(p.Type, "_call_output"):
			if why := refusal(p.Output); why != "" && len(list) < maxRefused {
				list = append(list, calls[p.ID].because(why))
			}
		}
		return nil
	})
	return list
}

// refusal is why a use of a tool was refused, as its output says; "" when it was not.
func refusal(output jsontext.Value) string {
	var texts []string
	if output.Kind() == '"' {
		texts = []string{""}
		_ = json.Unmarshal(output, &texts[0], jsonstrict.Loose) // what can't be read is no refusal
	} else {
		var parts []struct {
			Text string `json:"text"`
		}
		_ = json.Unmarshal(output, &parts, jsonstrict.Loose)
		if len(parts) == 0 || !strings.HasPrefix(parts[0].Text, "Script failed") {
			return ""
		}
		for _, p := range parts[1:] {
			texts = append(texts, strings.TrimPrefix(p.Text, "Script error:\n"))
		}
	}
	for _, text := range texts {
		for _, begin := range reasons {
			if strings.HasPrefix(text, begin) {
				return text[:min(len(text), maxInput)]
			}
		}
	}
	return ""
}

// patched finds the files of a patch, also of one that is a string of a script.
var patched = text.Regexp(`\*\*\* (?:Add|Update|Delete) File: ([^\\\n"]+)`)

// because returns the use with the reason. The tool of a script is the one that was refused.
func (r refusedUse) because(why string) refusedUse {
	r.Reason = why
	if strings.HasPrefix(why, reasons[0]) {
		r.Tool = "apply_patch"
		var names []string
		for _, m := range patched().FindAllStringSubmatch(r.Input, 10) {
			names = append(names, m[1])
		}
		r.Input = strings.Join(names, ", ")
	} else if r.Tool == "exec" {
		r.Tool = "exec_command"
	}
	return r
}
