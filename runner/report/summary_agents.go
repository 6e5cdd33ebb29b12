package report

import (
	"slices"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/state"
)

// The texts of agents are kept within limits, so that a summary stays small whatever the size
// of the run.
const (
	maxAgents  = 1000 // agents
	maxText    = 8 << 10
	maxResult  = 16 << 10
	maxRefused = 50 // different refused tool uses of an agent
	maxTools   = 50 // different tools of an agent
	maxSaid    = 20 // lines of what an agent said last
	maxOutput  = 4 << 10

	widestMove    = 120  // columns of a transition
	widestSaid    = 300  // of a line that an agent said, or of a command
	widestRefused = 200  // of a refused tool use
	widestSetting = 1200 // of the setting that would allow it, which is useless when cut
)

// talk is what a live Model keeps of what an agent said and did.
type talk struct {
	said     []string // the last lines
	used     map[string]int
	refused  []state.Refusal // each once
	unlisted int             // refused uses beyond maxRefused
}

// say keeps a line that an agent said, and counts the tool when it used one.
func (t *talk) say(s string) {
	if m := toolUse().FindStringSubmatch(s); m != nil && len(m[1]) <= widestName {
		if _, known := t.used[m[1]]; known || len(t.used) < maxTools {
			t.used[m[1]]++
		}
		return
	}
	t.said = append(t.said, cut(text.Prefix(s, 8*widestSaid), widestSaid))
	t.said = t.said[max(0, len(t.said)-maxSaid):]
}

// toolUse matches the use of a tool, as a backend reports it: the name of the tool, and
// in parentheses the input that says most. Ordinary words of an agent come in the same
// events, and they may look like name(text) too.
var toolUse = text.Regexp(`(?s)^([A-Z][A-Za-z0-9_-]*|mcp__[A-Za-z0-9_-]*)\(.*\)$`)

// refuse keeps the uses of tools that an agent was refused.
func (t *talk) refuse(all []state.Refusal) {
	for _, r := range all {
		switch {
		case slices.ContainsFunc(t.refused, func(x state.Refusal) bool { return x.Use == r.Use }):
		case len(t.refused) == maxRefused:
			t.unlisted++
		default:
			t.refused = append(t.refused, r)
		}
	}
}
