package report

import (
	"strings"

	"github.com/raymond-action/raymond-action/state"
)

const (
	markColumn   = len(judged)
	widestColumn = 30   // wider names push the rest of their line aside
	widestName   = 100  // longer ones are cut
	leastText    = 60   // columns for a text, however narrow the terminal
	vitalText    = 1000 // columns for the text of a failure, in any width
	vitalRunText = 300  // the same for the run: the failure was told before
)

// paints are the terminal's colours of the marks; others have none.
var paints = map[mark]string{
	began: "2", says: "2", stored: "2",
	fine: "32", done: "32", mark(state.Completed): "1;32",
	failed: "1;31", mark(state.Failed): "1;31",
	reminded: "33", retried: "33", judged: "33", rerun: "33", refused: "33", limited: "33", gaveUp: "33",
	mark(state.OverBudget): "1;33", mark(state.OverIterations): "1;33",
	mark(state.Suspended): "1;33", mark(state.Cancelled): "1;33",
}

// paint colours a mark, for readers who have colours.
func (c *Console) paint(m mark, text string) string {
	code, ok := paints[m]
	if !c.o.Color || !ok {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// render words a line for this reader, without its line break.
func (c *Console) render(l line) string {
	before := pad(name(l.agent), c.agentColumn) + "  "
	word, gap := strings.ReplaceAll(name(string(l.mark)), "_", " "), " "
	if l.agent != runAgent {
		before += pad(name(l.state), c.stateColumn) + "  "
		gap = pad("", markColumn-len(word)+2)
	}
	used := columns(before) + len(word) + len(gap) + columns(l.figures)
	text := c.fit(l, c.o.Width-used)
	return strings.TrimRight(before+c.paint(l.mark, word)+gap+l.figures+text+l.uncut, " ")
}

// name makes the name of an agent, a state or a status fit for a line.
func name(s string) string { return cut(s, widestName) }

// fit cuts the text of a line.
func (c *Console) fit(l line, room int) string {
	switch {
	case l.rank == vital && l.agent == runAgent:
		return cutMiddle(l.text, vitalRunText)
	case l.rank == vital:
		return cutMiddle(l.text, vitalText)
	}
	return cut(l.text, max(leastText, room))
}
