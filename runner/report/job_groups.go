package report

import "strings"

// groupLog writes lines to a job log, inside and outside of groups. A Console calls its methods
// Write and PrintOwn, which write outside of groups.
type groupLog struct {
	log    JobLog
	isOpen bool // whether a group is open
}

// Write closes the open group and prints each line of text.
func (g *groupLog) Write(text []byte) (int, error) {
	g.endGroup()
	for line := range strings.Lines(string(text)) {
		g.print(strings.TrimSuffix(line, "\n"))
	}
	return len(text), nil
}

// PrintOwn closes the open group and prints a line that consists of raymond's own words and of names.
func (g *groupLog) PrintOwn(line string) {
	g.endGroup()
	g.log.PrintOwn(replaceDim(line))
}

// print prints a line into the open group, if there is one. The line may contain only raymond's own
// color sequences.
func (g *groupLog) print(line string) { g.log.PrintStyled(replaceDim(line)) }

// replaceDim replaces the color "dim" with grey, since GitHub's log viewer doesn't support it.
func replaceDim(line string) string { return strings.ReplaceAll(line, "\x1b[2m", "\x1b[90m") }

// beginGroup opens a group. No other group may be open.
func (g *groupLog) beginGroup(title string) {
	g.isOpen = true
	g.log.Group(title)
}

// endGroup closes the open group, if there is one.
func (g *groupLog) endGroup() {
	if g.isOpen {
		g.isOpen = false
		g.log.EndGroup()
	}
}
