package report

import (
	"strings"

	"github.com/raymond-action/raymond-action/state"
)

const (
	markColumn          = len(markVerdict)
	widestColumn        = 30   // longer names move the following text of their line to the right
	widestName          = 100  // longer names are cut
	minText             = 60   // minimum columns for a text, even in a narrow terminal
	maxImportantText    = 1000 // columns of an important text, independent of the width of the terminal
	maxImportantRunText = 300  // columns of an important text about the run
)

// colors maps marks to the codes of their colors on a terminal.
var colors = map[mark]string{
	markStart: "2", markSays: "2", markStored: "2",
	markOK: "32", markDone: "32", mark(state.Completed): "1;32",
	markFailed: "1;31", mark(state.Failed): "1;31",
	markRemind: "33", markRetry: "33", markVerdict: "33", markRerun: "33", markWaits: "33", markReady: "32", markRefused: "33", markLimit: "33", markGaveUp: "33",
	mark(state.OverBudget): "1;33", mark(state.OverIterations): "1;33",
	mark(state.Suspended): "1;33", mark(state.Cancelled): "1;33",
}

// layout determines the colors and the column widths of lines.
type layout struct {
	color                    bool
	width                    int
	agentColumn, stateColumn int // widths so far, which grow with longer names
}

// colorize gives a text the color of the mark m. It returns the text unchanged if colors are off.
func (y *layout) colorize(m mark, text string) string {
	code, ok := colors[m]
	if !y.color || !ok {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// render returns a line as text, without a line break at its end.
func (y *layout) render(l line) string {
	before := pad(name(l.agent), y.agentColumn) + "  "
	word, gap := strings.ReplaceAll(name(string(l.mark)), "_", " "), " "
	if l.agent != runAgent {
		before += pad(name(l.state), y.stateColumn) + "  "
		gap = pad("", markColumn-len(word)+2)
	}
	used := columns(before) + len(word) + len(gap) + columns(l.figures)
	text := l.cutText(y.width - used)
	return strings.TrimRight(before+y.colorize(l.mark, word)+gap+l.figures+text+l.uncut, " ")
}

// name converts the name of an agent, a state or a status to plain text, and shortens a long name.
func name(s string) string { return cut(s, widestName) }

// cutText returns the text of a line, shortened to room columns. Important texts may be longer.
func (l line) cutText(room int) string {
	switch {
	case l.rank == rankImportant && l.agent == runAgent:
		return cutMiddle(l.text, maxImportantRunText)
	case l.rank == rankImportant || l.mark == markWaits:
		return cutMiddle(l.text, maxImportantText)
	}
	return cut(l.text, max(minText, room))
}
