package report

import (
	"strings"

	"github.com/raymond-action/raymond-action/state"
)

const (
	markColumn   = len(judged)
	widestColumn = 30   // wider names move the rest of their line to the right
	widestName   = 100  // longer ones are cut
	minText      = 60   // columns of a text, in any terminal
	vitalText    = 1000 // columns of the text of a failure, in any terminal
	vitalRunText = 300  // the same for the run: the failure was told before
)

// paints are the colours of marks on a terminal. Other marks have none.
var paints = map[mark]string{
	began: "2", says: "2", stored: "2",
	fine: "32", done: "32", mark(state.Completed): "1;32",
	failed: "1;31", mark(state.Failed): "1;31",
	reminded: "33", retried: "33", judged: "33", rerun: "33", waiting: "33", ready: "32", refused: "33", limited: "33", gaveUp: "33",
	mark(state.OverBudget): "1;33", mark(state.OverIterations): "1;33",
	mark(state.Suspended): "1;33", mark(state.Cancelled): "1;33",
}

// layout is how lines look for a reader: their colours and columns.
type layout struct {
	color                    bool
	width                    int
	agentColumn, stateColumn int // widths so far
}

// paint colours a mark, for readers who have colours.
func (y *layout) paint(m mark, text string) string {
	code, ok := paints[m]
	if !y.color || !ok {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// render returns the text of a line, without its line break.
func (y *layout) render(l line) string {
	before := pad(name(l.agent), y.agentColumn) + "  "
	word, gap := strings.ReplaceAll(name(string(l.mark)), "_", " "), " "
	if l.agent != runAgent {
		before += pad(name(l.state), y.stateColumn) + "  "
		gap = pad("", markColumn-len(word)+2)
	}
	used := columns(before) + len(word) + len(gap) + columns(l.figures)
	text := l.fit(y.width - used)
	return strings.TrimRight(before+y.paint(l.mark, word)+gap+l.figures+text+l.uncut, " ")
}

// name returns the name of an agent, a state or a status as it is shown in a line.
func name(s string) string { return cut(s, widestName) }

// fit returns the text of a line, cut to a number of columns. What is vital may have
// more.
func (l line) fit(room int) string {
	switch {
	case l.rank == vital && l.agent == runAgent:
		return cutMiddle(l.text, vitalRunText)
	case l.rank == vital || l.mark == waiting:
		return cutMiddle(l.text, vitalText)
	}
	return cut(l.text, max(minText, room))
}
