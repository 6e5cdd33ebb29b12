package report

import (
	"slices"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/state"
)

// The limits for the texts of agents, so that a summary stays small for large runs.
const (
	maxAgents  = 1000 // agents
	maxText    = 8 << 10
	maxResult  = 16 << 10
	maxRefused = 50 // different refused tool uses of an agent
	maxTools   = 50 // different tools of an agent
	maxLines   = 20 // last lines of an agent's text
	maxOutput  = 4 << 10

	widestTransition = 120  // columns of a transition
	widestAgentLine  = 300  // columns of an agent's line, or of a command
	widestRefused    = 200  // columns of a refused tool use
	widestSetting    = 1200 // columns of the setting that would allow it, which is useless when cut
)

// agentLog has the newest texts and the tool uses of an agent, in a live Model.
type agentLog struct {
	lines    []string // last lines
	toolUses map[string]int
	refusals []state.Refusal // without duplicates
	unlisted int             // number of refusals beyond maxRefused
}

// addLine adds a line of an agent, or counts the tool if the line reports a tool use.
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

// toolUse matches the report of a tool use by a backend: the name of the tool and, in parentheses,
// its most important input. Other texts of an agent come in the same events, and may look like
// name(text), too.
var toolUse = text.Regexp(`(?s)^([A-Z][A-Za-z0-9_-]*|mcp__[A-Za-z0-9_-]*)\(.*\)$`)

// addRefusals adds the refused tool uses of an agent.
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
