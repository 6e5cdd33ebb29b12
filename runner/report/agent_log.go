package report

import (
	"slices"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/state"
)

// The limits for the agents' texts. They keep summaries small if a run is large.
const (
	maxAgents  = 1000 // agents in a summary
	maxText    = 8 << 10
	maxResult  = 16 << 10
	maxRefused = 50 // different denied tool calls of an agent
	maxTools   = 50 // different tools that an agent called
	maxLines   = 20 // last lines of an agent's text that are stored
	maxOutput  = 4 << 10

	widestTransition = 120  // columns of a transition
	widestAgentLine  = 300  // columns of an agent's line, or of a command
	widestRefused    = 200  // columns of a denied tool call
	widestSetting    = 1200 // columns of the setting that may allow the call; a shortened one would be useless
)

// agentLog contains an agent's newest texts, its tool calls, and its denied tool calls, for the
// summary. Only a live Model collects the texts and the tool calls.
type agentLog struct {
	lines    []string // last lines of the agent's text
	toolUses map[string]int
	refusals []state.Refusal // denied tool calls, without duplicates
	unlisted int             // number of denied tool calls beyond maxRefused
}

// addLine adds a line of an agent's text. If the line reports a tool call, addLine does not add the
// line, but counts the call.
func (t *agentLog) addLine(s string) {
	if m := toolUse().FindStringSubmatch(s); m != nil && len(m[1]) <= widestName {
		if _, known := t.toolUses[m[1]]; known || len(t.toolUses) < maxTools {
			t.toolUses[m[1]]++
		}
		return
	}
	t.lines = append(t.lines, cut(text.Prefix(s, 8*widestAgentLine), widestAgentLine))
	t.lines = t.lines[max(0, len(t.lines)-maxLines):]
}

// toolUse matches a line in which a backend reports a tool call: the name of the tool and, in
// parentheses, its most important input. The same events also contain texts that an agent wrote. A
// text that looks like name(text) is also counted as a tool call.
var toolUse = text.Regexp(`(?s)^([A-Z][A-Za-z0-9_-]*|mcp__[A-Za-z0-9_-]*)\(.*\)$`)

// addRefusals adds denied tool calls that are not in the list yet. If the list is full, it only
// counts them.
func (t *agentLog) addRefusals(all []state.Refusal) {
	for _, r := range all {
		switch {
		case slices.ContainsFunc(t.refusals, func(x state.Refusal) bool { return x.Use == r.Use }):
		case len(t.refusals) == maxRefused:
			t.unlisted++
		default:
			t.refusals = append(t.refusals, r)
		}
	}
}
