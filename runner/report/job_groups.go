package report

import "strings"

// groupLog writes lines to a job log, inside and outside of groups. Its methods Write and PrintOwn,
// for a Console, write outside of groups.
type groupLog struct {
	log    JobLog
	isOpen bool // a group is open
}

func (g *groupLog) Write(text []byte) (int, error) {
	g.endGroup()
	for line := range strings.Lines(string(text)) {
		g.print(strings.TrimSuffix(line, "\n"))
	}
	return len(text), nil
}

// PrintOwn prints a line of raymond's own text, in which only names are from other sources.
func (g *groupLog) PrintOwn(line string) {
	g.endGroup()
	g.log.PrintOwn(replaceDim(line))
}

// print prints a line without control characters from other sources.
func (g *groupLog) print(line string) { g.log.PrintStyled(replaceDim(line)) }

// replaceDim replaces the color dim with grey, since GitHub's log viewer doesn't support dim.
func replaceDim(line string) string { return strings.ReplaceAll(line, "\x1b[2m", "\x1b[90m") }

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
