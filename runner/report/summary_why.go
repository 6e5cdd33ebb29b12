package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/state"
)

const (
	mostFailures  = 20  // agents that are named on top because they failed
	mostExplained = 3   // of them, whose fault is shown there
	linesOfFaults = 12  // shown in the open, of all faults
	widestLine    = 200 // columns of such a line
	widestInline  = 100 // of a text that needs no fence
)

// whyNot says why the run is not completed: which agents failed, where, and the
// lines of their faults that say most.
func (s *Summary) whyNot(b *strings.Builder, d diet) {
	s.atWork(b)
	if s.fault != "" {
		glimpse{what: "The step ended with an error", p: keep(s.fault, mostText), lines: linesOfFaults}.write(b, d.text)
	}
	failed := s.tale.failed()
	switch n := len(failed); {
	case n > mostExplained:
		listFailures(b, failed)
	case n > 0:
		for _, a := range failed {
			a.failure(b, max(3, linesOfFaults/n), d.text)
		}
	}
	if end := s.tale.ending; len(failed) == 0 || end != nil && end.Status != state.Failed {
		s.reason(b, widestReason)
	}
}

// isExplained reports whether the top of the page has why an agent failed.
func (t *tale) isExplained() bool { return len(t.failed()) <= mostExplained }

// failed returns the agents that failed, in the order in which they came.
func (t *tale) failed() []*actor {
	var all []*actor
	for _, a := range t.actors {
		if a.standing == hasFailed {
			all = append(all, a)
		}
	}
	return all
}

// listFailures has a line for each of many failures.
func listFailures(b *strings.Builder, failed []*actor) {
	fmt.Fprintf(b, "%s failed:\n\n", count(len(failed), "agent"))
	for _, a := range failed[:min(len(failed), mostFailures)] {
		fmt.Fprintf(b, "- %s in state %s: %s\n", code(a.id, widestName), code(a.state, widestName), codeSpan(a.shortFault()))
	}
	if more := len(failed) - mostFailures; more > 0 {
		fmt.Fprintf(b, "- and %d more\n", more)
	}
	b.WriteString("\n")
}

func (a *actor) shortFault() string { return cutMiddle(a.fault.String(), widestLine) }

// failedWhere says which agent failed, and in which state and attempt.
func (a *actor) failedWhere() string {
	text := fmt.Sprintf("Agent %s failed in state %s", code(a.id, widestName), code(a.state, widestName))
	if a.attempt > 1 {
		text += fmt.Sprintf(", attempt %d", a.attempt)
	}
	return text
}

// failure shows why an agent failed, in some lines: its fault, the command that
// was not content with its last attempt, and the tools that it was refused.
func (a *actor) failure(b *strings.Builder, lines, most int) {
	glimpse{what: a.failedWhere(), p: a.fault, lines: lines}.write(b, most)
	a.outputs.each(func(name, text string) {
		glimpse{what: "The last it wrote to " + name, p: keep(text, mostText), lines: lines}.write(b, most)
	})
	if last := a.lastTry(); last != nil {
		last.explain(b, lines, most)
	}
	if len(a.refused) > 0 {
		fmt.Fprintf(b, "It was refused %s%s\n\n", codeSpan(cut(a.refused[0].Use, widestRefused)), a.wouldAllow())
	}
}

// wouldAllow tells of the first refused tool use what would allow it, and that there
// are others.
func (a *actor) wouldAllow() string {
	text := refusedBecause(a.refused[0])
	if more := len(a.refused) - 1 + a.unlisted; more > 0 {
		text += fmt.Sprintf("; and %s, listed below", count(more, "other use"))
	}
	return text
}

// reason says why a run is not completed. Of failed agents the failures tell.
func (s *Summary) reason(b *strings.Builder, width int) {
	if end := s.tale.ending; end != nil && end.Reason != "" {
		fmt.Fprintf(b, "Why: %s\n\n", code(cutMiddle(inWords(end.Reason), width), width))
	}
}

// inWords is the reason of a run that rests, where the state machine has a name for it.
func inWords(reason string) string {
	if whose, ok := strings.CutSuffix(reason, ": "+exhausted); ok {
		return whose + " has no attempts left (" + exhausted + ")"
	}
	return reason
}

// glimpse shows a text in a few lines, and all of it folded when those are not
// all.
type glimpse struct {
	what    string // in Markdown, without the colon
	p       passage
	lines   int
	fromTop bool // the first lines say most, rather than the last
	isProse bool // of an agent: long lines are broken
}

// write writes the glimpse with at most most bytes of its text, twice.
func (g glimpse) write(b *strings.Builder, most int) {
	shown, isAll := g.few(most)
	g.open(b, shown)
	if !isAll && most > 0 {
		all := g.p.within(most).String()
		if g.isProse {
			all = wrap(all)
		}
		foldText(b, "All of it", all)
	}
}

// open writes what is in the open. One short line needs no fence.
func (g glimpse) open(b *strings.Builder, shown string) {
	if !strings.Contains(shown, "\n") && columns(shown) <= widestInline {
		fmt.Fprintf(b, "%s: %s\n\n", g.what, codeSpan(plain(shown)))
		return
	}
	fmt.Fprintf(b, "%s:\n\n%s\n", g.what, fence(shown))
}

// few returns the lines that say most, in about most bytes, and whether they are
// all.
func (g glimpse) few(most int) (text string, isAll bool) {
	all := strings.Split(g.whole(), "\n")
	isAll = len(all) <= g.lines && g.p.dropped == 0
	for n := min(g.lines, len(all)); ; n-- {
		text, isCut := g.pick(all, n)
		isAll = isAll && !isCut && n == len(all)
		if len(text) <= max(most, 2*widestLine) || n <= leastLines {
			return before(text, max(most, 3*widestLine)), isAll
		}
	}
}

// leastLines are the first, the mark of those left out, and the last.
const leastLines = 3

func (g glimpse) whole() string {
	if g.isProse {
		return wrap(g.p.String())
	}
	return g.p.String()
}

// pick returns n of the lines, and whether one of them was cut.
func (g glimpse) pick(all []string, n int) (text string, isCut bool) {
	lines := slices.Clone(all)
	if gone := len(all) - n + 1; gone > 1 {
		mark := fmt.Sprintf("… %s left out …", count(gone, "line"))
		if g.fromTop {
			lines = append(lines[:n-1], mark)
		} else { // the first says what failed
			lines = slices.Concat(all[:1], []string{mark}, all[gone+1:])
		}
	}
	for i, line := range lines {
		if columns(line) > widestLine {
			isCut = true
			lines[i] = head(line, widestLine*2/3) + ellipsis + tail(line, widestLine/3-1)
		}
	}
	return strings.Join(lines, "\n"), isCut
}

// foldText writes a text that a reader may unfold.
func foldText(b *strings.Builder, what, text string) {
	fmt.Fprintf(b, "<details><summary>%s</summary>\n\n%s\n</details>\n\n", what, fence(text))
}
