package report

import "strings"

// groupLog writes lines to a job log, in groups and outside of them. Groups never
// nest. As a writer, for a Console, it writes outside of groups.
type groupLog struct {
	log    JobLog
	isOpen bool // a group
}

func (g *groupLog) Write(text []byte) (int, error) {
	g.endGroup()
	for line := range strings.Lines(string(text)) {
		g.print(strings.TrimSuffix(line, "\n"))
	}
	return len(text), nil
}

// PrintOwn writes a line in which others chose no more than names.
func (g *groupLog) PrintOwn(line string) {
	g.endGroup()
	g.log.PrintOwn(visible(line))
}

// print shows a line in which others wrote no control character.
func (g *groupLog) print(line string) { g.log.PrintStyled(visible(line)) }

// visible replaces dim by grey, because GitHub's viewer does not show dim.
func visible(line string) string { return strings.ReplaceAll(line, "\x1b[2m", "\x1b[90m") }

func (g *groupLog) beginGroup(title string) {
	g.isOpen = true
	g.log.Group(title)
}

// endGroup closes the group that is open, if there is one.
func (g *groupLog) endGroup() {
	if g.isOpen {
		g.isOpen = false
		g.log.EndGroup()
	}
}
