package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/state"
)

const (
	maxFailures    = 20  // agents that are named at the top because they failed
	maxExplained   = 3   // of them, those whose failure is explained there
	linesOfFailure = 12  // shown in the open, of all failures
	widestLine     = 200 // columns of such a line
	widestInline   = 100 // of a text that needs no fence
)

// failures writes why the run is not completed: which agents failed, where, and the
// lines that say most.
func (d *document) failures(w *writer) {
	if d.stepError != "" {
		stepError(d.stepError, linesOfFailure).write(w)
	}
	failed := d.failed()
	switch n := len(failed); {
	case n > maxExplained:
		listFailures(w, failed)
	case n > 0:
		for _, a := range failed {
			a.writeFailure(w, max(3, linesOfFailure/n))
		}
	}
	if end := d.model.Ending; len(failed) == 0 || end != nil && end.Status != state.Failed {
		d.reason(w, widestReason)
	}
}

// stepError is the excerpt of an error that ended the step.
func stepError(text string, lines int) excerpt {
	return excerpt{what: "The step ended with an error", text: newPassage(text, maxText), lines: lines}
}

// listFailures writes one line for each failure.
func listFailures(w *writer, failed []*agent) {
	w.printf("%s failed:\n\n", count(len(failed), "agent"))
	for _, a := range failed[:min(len(failed), maxFailures)] {
		why := cutMiddle(a.why().String(), widestLine)
		w.printf("- %s in state %s: %s\n", code(a.ID, widestName), code(a.State, widestName), codeSpan(why))
	}
	if more := len(failed) - maxFailures; more > 0 {
		w.printf("- and %d more\n", more)
	}
	w.write("\n")
}

// failedWhere says which agent failed, and in which state and attempt.
func (a *agent) failedWhere() string {
	text := fmt.Sprintf("Agent %s failed in state %s", code(a.ID, widestName), code(a.State, widestName))
	if a.last != nil && a.last.attempt > 1 && !a.last.isExhausted {
		text += fmt.Sprintf(", attempt %d", a.last.attempt)
	}
	return text
}

// writeFailure writes why an agent failed, in some lines: its error, its last
// output, the command that failed in its last attempt, and the tools that it was
// refused.
func (a *agent) writeFailure(w *writer, lines int) {
	excerpt{what: a.failedWhere(), text: a.why(), lines: lines}.write(w)
	for _, one := range a.outputs.list() {
		excerpt{what: "The last it wrote to " + one.name, text: newPassage(one.text, maxText), lines: lines}.write(w)
	}
	if last := a.verdicts.failed(a.last); last != nil {
		last.explain(w, lines, maxText)
	}
	if len(a.tools.refused) > 0 {
		w.write("It was refused " + a.tools.firstRefused() + "\n\n")
	}
}

// explain writes the last lines of the command that failed first.
func (v *verdict) explain(w *writer, lines, limit int) {
	if v.output != "" {
		shown, _ := excerpt{text: passage{head: v.output}, lines: lines}.shorten(limit)
		w.printf("The end of what %s wrote:\n\n%s\n", codeSpan(v.command), fence(shown))
	}
}

// reason writes why a run is not completed. It is for runs without failed agents, whose
// failures say more.
func (d *document) reason(w *writer, width int) {
	if end := d.model.Ending; end != nil && end.Reason != "" && !d.hasToldWaits(end) {
		w.printf("Why: %s\n\n", code(cutMiddle(end.Reason, width), width))
	}
}

// hasToldWaits reports whether the reason why a run is suspended is that agents wait, of
// which more was said before.
func (d *document) hasToldWaits(end *state.RunFinished) bool {
	return end.Status == state.Suspended && slices.ContainsFunc(d.waits(), func(w Wait) bool {
		return strings.HasPrefix(end.Reason, w.Agent+" waits ")
	})
}

// excerpt is a text shown in a few lines and, if those are not all, folded.
type excerpt struct {
	what    string // in Markdown, without the colon
	text    passage
	lines   int
	fromTop bool // the first lines say more than the last
	isProse bool // of an agent: long lines are broken
}

// write writes the lines and, as far as there is room, all of the text folded.
func (x excerpt) write(w *writer) {
	shown, isAll := x.shorten(maxText)
	x.open(w, shown)
	if isAll {
		return
	}
	w.text(x.text.within(maxText), func(all string) string {
		if x.isProse {
			all = wrap(all)
		}
		return "<details><summary>All of it</summary>\n\n" + fence(all) + "\n</details>\n\n"
	})
}

// writeShort writes the lines alone, in about limit bytes.
func (x excerpt) writeShort(w *writer, limit int) {
	shown, _ := x.shorten(limit)
	x.open(w, shown)
}

// open writes the part that is not folded. One short line needs no fence.
func (x excerpt) open(w *writer, shown string) {
	if !strings.Contains(shown, "\n") && columns(shown) <= widestInline {
		w.printf("%s: %s\n\n", x.what, codeSpan(plain(shown)))
		return
	}
	w.printf("%s:\n\n%s\n", x.what, fence(shown))
}

// shorten returns the lines that say most, in about limit bytes, and whether these are
// all lines.
func (x excerpt) shorten(limit int) (shown string, isAll bool) {
	whole := x.text.String()
	if x.isProse {
		whole = wrap(whole)
	}
	all := strings.Split(whole, "\n")
	isAll = len(all) <= x.lines && x.text.dropped == 0
	for n := min(x.lines, len(all)); ; n-- {
		lines, isCut := x.pick(all, n)
		isAll = isAll && !isCut && n == len(all)
		if len(lines) <= max(limit, 2*widestLine) || n <= minLines {
			return text.Before(lines, max(limit, 3*widestLine)), isAll
		}
	}
}

// minLines is room for the first line, the number of lines left out, and the last line.
const minLines = 3

// pick returns n of the lines, and whether one of them was cut.
func (x excerpt) pick(all []string, n int) (text string, isCut bool) {
	lines := slices.Clone(all)
	if gone := len(all) - n + 1; gone > 1 {
		mark := fmt.Sprintf("… %s left out …", count(gone, "line"))
		if x.fromTop {
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
