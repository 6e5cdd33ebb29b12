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

// refusedUse is a tool call that was denied. The CLI's output doesn't contain tool calls that the CLI
// itself has denied, but the rollout does.
type refusedUse struct {
	Tool, Input string // Input was written by the model and may be long
	Reason      string // in the words of the CLI
}

// The limits for denied tool calls that are read from a rollout.
const (
	maxCalls = 1000 // number of tool calls
	maxInput = 8192 // bytes of an input, and of a reason
)

// refusalPrefixes are the beginnings of tool outputs that report a denied tool call.
var refusalPrefixes = []string{"patch rejected: ", "approval policy is Never; reject command"}

// call is a tool call or its result.
type call struct {
	Type      string         `json:"type"`
	ID        string         `json:"call_id"`
	Name      string         `json:"name"`
	Input     string         `json:"input"`
	Arguments string         `json:"arguments"`
	Output    jsontext.Value `json:"output"`
}

// readRefusals returns the denied tool calls in a rollout, from a byte offset on.
func readRefusals(path string, from int64) []refusedUse {
	calls, list := map[string]refusedUse{}, []refusedUse(nil)
	_ = transcripts.Read(path, from, -1, func(_ int64, text []byte, truncated bool) error {
		if truncated || !bytes.Contains(text, []byte(`"call_id"`)) {
			return nil
		}
		var l struct {
			Type    string `json:"type"`
			Payload call   `json:"payload"`
		}
		if json.Unmarshal(text, &l, jsonstrict.Loose) != nil || l.Type != "response_item" {
			return nil
		}
		p := l.Payload
		switch {
		case strings.HasSuffix(p.Type, "_call") && len(calls) < maxCalls:
			input := p.Input + p.Arguments
			calls[p.ID] = refusedUse{Tool: p.Name, Input: input[:min(len(input), maxInput)]}
		case strings.HasSuffix(p.Type, "_call_output"):
			if why := refusalReason(p.Output); why != "" && len(list) < maxRefused {
				list = append(list, calls[p.ID].withReason(why))
			}
		}
		return nil
	})
	return list
}

// refusalReason returns why a tool call was denied, according to the output of the call. It returns
// "" if the call was not denied.
func refusalReason(output jsontext.Value) string {
	var texts []string
	if output.Kind() == '"' {
		texts = []string{""}
		_ = json.Unmarshal(output, &texts[0], jsonstrict.Loose) // output that can't be decoded is ignored
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
		for _, begin := range refusalPrefixes {
			if strings.HasPrefix(text, begin) {
				return text[:min(len(text), maxInput)]
			}
		}
	}
	return ""
}

// patchedFiles matches the names of the files in a patch, even if the patch is a string in a
// script.
var patchedFiles = text.Regexp(`\*\*\* (?:Add|Update|Delete) File: ([^\\\n"]+)`)

// withReason returns the tool call with the reason for which it was denied. If a script called the
// tool, the result names that tool and not the script.
func (r refusedUse) withReason(why string) refusedUse {
	r.Reason = why
	if strings.HasPrefix(why, refusalPrefixes[0]) {
		r.Tool = "apply_patch"
		var names []string
		for _, m := range patchedFiles().FindAllStringSubmatch(r.Input, 10) {
			names = append(names, m[1])
		}
		r.Input = strings.Join(names, ", ")
	} else if r.Tool == "exec" {
		r.Tool = "exec_command"
	}
	return r
}
