package claude

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/claude/permit"
	"github.com/raymond-action/raymond-action/state"
)

const (
	maxReasons    = 1000 // uses of tools of which it is kept why they failed
	longestReason = 8192
	reasonWidth   = 300 // of the shown part
)

// because keeps why a use of a tool failed. Whether it was refused, only the result
// record tells.
func (s *stream) because(use, why string) {
	if use == "" || why == "" || len(s.why) >= maxReasons {
		return
	}
	if s.why == nil {
		s.why = map[string]string{}
	}
	s.why[use] = why[:min(len(why), longestReason)]
}

// refusals tells of refused uses of tools why, and what would let them pass.
func (s *stream) refusals(all []denial) []runner.Refusal {
	var list []runner.Refusal
	for _, d := range all[:min(len(all), state.MaxRefusals)] {
		why := s.why[d.Use]
		r := runner.Refusal{Use: s.toolUse(d.Tool, d.Input), Reason: oneLine(s.hide(why), reasonWidth)}
		advice := permit.Advise(permit.Use{
			Tool: d.Tool, Input: texts(d.Input), Reason: why, Dir: s.order.Dir, Allowed: s.order.Prompt.AllowedTools,
		})
		if s.areOpen(advice.Rules) {
			r.Allow, r.AllowsAll = advice.Rules, advice.Everything
		}
		list = append(list, r)
	}
	return list
}

// areOpen says that no secret is in any of the rules, which would be of no use
// without it.
func (s *stream) areOpen(rules []string) bool {
	for _, rule := range rules {
		if s.hide(rule) != rule {
			return false
		}
	}
	return true
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
