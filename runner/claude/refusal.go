package claude

import (
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/claude/permit"
	"github.com/raymond-action/raymond-action/runner/internal/program"
	"github.com/raymond-action/raymond-action/state"
)

const (
	maxReasons    = 1000 // uses of tools of which it is kept why they failed
	longestReason = 8192
	reasonWidth   = 300 // of the shown part
)

// reasons are why uses of tools failed, in the words of the CLI, by the use's id.
// Whether a use was refused, only the result record tells.
type reasons map[string]string

// add keeps the reason for a use that failed.
func (r *reasons) add(use, why string) {
	if use == "" || why == "" || len(*r) >= maxReasons {
		return
	}
	if *r == nil {
		*r = reasons{}
	}
	(*r)[use] = why[:min(len(why), longestReason)]
}

// refusals says of refused uses of tools why they were, and what would allow them.
func (r reasons) refusals(all []denial, o runner.Order, d *program.Display) []runner.Refusal {
	var list []runner.Refusal
	for _, use := range all[:min(len(all), state.MaxRefusals)] {
		why := r[use.Use]
		refusal := runner.Refusal{Use: toolUse(d, use.Tool, use.Input), Reason: program.OneLine(d.Hide(why), reasonWidth)}
		advice := permit.Advise(permit.Use{
			Tool: use.Tool, Input: texts(use.Input), Reason: why, Dir: o.Dir, Allowed: o.Prompt.Permissions.AllowedTools,
		})
		// A rule with a secret in it would be of no use without it.
		if !slices.ContainsFunc(advice.Rules, func(rule string) bool { return d.Hide(rule) != rule }) {
			refusal.Allow, refusal.AllowsAll = advice.Rules, advice.Everything
		}
		list = append(list, refusal)
	}
	return list
}

// texts are the inputs of a tool that are texts.
func texts(input jsontext.Value) map[string]string {
	var fields map[string]jsontext.Value
	if json.Unmarshal(input, &fields, loose) != nil {
		return nil
	}
	all := map[string]string{}
	for name, value := range fields {
		if value.Kind() == '"' {
			all[name] = text(value)
		}
	}
	return all
}

// text is the text that a value is, "" for another value.
func text(value jsontext.Value) string {
	var s string
	if json.Unmarshal(value, &s, loose) != nil {
		return ""
	}
	return s
}

// said is the first text of a tool's result.
func said(value jsontext.Value) string {
	if value.Kind() == '"' {
		return text(value)
	}
	var blocks content
	if json.Unmarshal(value, &blocks, lenient) == nil {
		for _, b := range blocks {
			if b.Type == "text" {
				return b.Text
			}
		}
	}
	return ""
}
