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
	linesOfResult  = 15  // the same for the result
	widestLine     = 200 // columns of such a line
	widestInline   = 100 // of a text that needs no fence
)

// failures writes why the run is not completed: which agents failed, where, and the
// lines that say most.
func (s *Summary) failures(w *writer) {
	if s.stepError != "" {
		excerpt{what: "The step ended with an error", text: s.stepError, lines: linesOfFailure}.write(w)
	}
	failed, explained, listed := s.failed(), maxExplained, maxFailures
	if w.short > 0 {
		explained, listed = 1, 0
	}
	explained = min(explained, len(failed))
	for _, a := range failed[:explained] {
		a.writeFailure(w, max(3, linesOfFailure/explained))
	}
	if rest := failed[explained:]; len(rest) > 0 {
		listFailures(w, rest, listed)
	}
	if end := s.model.Ending; len(failed) == 0 || end != nil && end.Status != state.Failed {
		s.reason(w)
	}
}

// failed returns the agents that failed.
func (s *Summary) failed() []*Agent {
	return slices.DeleteFunc(slices.Clone(s.agents()), func(a *Agent) bool { return a.Status != Failed })
}

// listFailures writes how many further agents have failed, and a line for each of the first.
func listFailures(w *writer, failed []*Agent, most int) {
	w.printf("%s failed", count(len(failed), "more agent"))
	if most == 0 {
		w.write(".\n\n")
		return
	}
	w.write(":\n\n")
	var lines []string
	for _, a := range failed {
		lines = append(lines, fmt.Sprintf("%s in state %s: %s", code(a.ID, widestName), code(a.State, widestName), codeSpan(cutMiddle(a.why(), widestLine))))
	}
	w.write("- " + strings.Join(FirstOf(lines, most), "\n- ") + "\n\n")
}

// writeFailure writes why an agent failed, in some lines: its error, its last
// output, the command that failed in its last attempt, and the tools that it was
// refused.
func (a *Agent) writeFailure(w *writer, lines int) {
	what := fmt.Sprintf("Agent %s failed in state %s", code(a.ID, widestName), code(a.State, widestName))
	if a.last != nil && a.last.attempt > 1 && !a.last.isExhausted {
		what += fmt.Sprintf(", attempt %d", a.last.attempt)
	}
	excerpt{what: what, text: a.why(), lines: lines}.write(w)
	for _, one := range a.last.Outputs() {
		excerpt{what: "The last it wrote to " + one.Name, text: one.Text, lines: lines}.write(w)
	}
	a.last.explain(w, lines)
	if len(a.talk.refused) > 0 && w.short == 0 {
		text := codeSpan(cut(a.talk.refused[0].Use, widestRefused)) + refusedBecause(a.talk.refused[0])
		if more := len(a.talk.refused) - 1 + a.talk.unlisted; more > 0 {
			text += fmt.Sprintf("; and %s, listed below", count(more, "other use"))
		}
		w.write("It was refused " + text + "\n\n")
	}
}

// explain writes the last lines of the command that failed first in the last attempt of an
// execution, if there is one and it is not done.
func (x *Exec) explain(w *writer, lines int) {
	failed := x.FailedCommand()
	if failed == nil || x.verdict().Converged || strings.TrimSpace(failed.Tail) == "" {
		return
	}
	shown, _ := excerpt{text: failed.Tail, lines: lines}.shorten(w)
	w.fit(fmt.Sprintf("The end of what %s wrote:\n\n%s\n", code(failed.Cmd, widestSaid), fence(shown)))
}

// reason writes why a run is not completed. It is for runs without failed agents, whose
// failures say more.
func (s *Summary) reason(w *writer) {
	if end := s.model.Ending; end != nil && end.Reason != "" {
		width := w.most(widestReason)
		w.printf("Why: %s\n\n", code(cutMiddle(end.Reason, width), width))
	}
}

// excerpt is a text of others shown in a few lines and, on a page, folded if those are not all.
type excerpt struct {
	what    string // in Markdown, without the colon
	text    string
	lines   int
	fromTop bool // the first lines say more than the last
	isProse bool // of an agent: long lines are broken
}

// write writes the lines and, on a page and as far as there is room, all of the text folded. One
// short line needs no fence.
func (x excerpt) write(w *writer) {
	shown, isAll := x.shorten(w)
	if strings.Contains(shown, "\n") || columns(shown) > widestInline {
		w.printf("%s:\n\n%s\n", x.what, fence(shown))
	} else {
		w.printf("%s: %s\n\n", x.what, codeSpan(plain(shown)))
	}
	if isAll || w.short > 0 {
		return
	}
	w.text(x.text, maxText, func(all string) string {
		if x.isProse {
			all = wrap(all)
		}
		return "<details><summary>All of it</summary>\n\n" + fence(all) + "\n</details>\n\n"
	})
}

// shorten returns the lines that say most, in about as many bytes as a text may take, and whether
// these are all lines.
func (x excerpt) shorten(w *writer) (shown string, isAll bool) {
	limit := w.most(maxText)
	whole := middleOut(x.text, maxResult)
	if x.isProse {
		whole = wrap(whole)
	}
	all := strings.Split(whole, "\n")
	isAll = len(all) <= x.lines && len(x.text) <= maxResult
	for n := min(x.lines, len(all)); ; n-- {
		lines, isCut := x.pick(all, n)
		isAll = isAll && !isCut && n == len(all)
		if len(lines) <= max(limit, 2*widestLine) || n <= minLines {
			return text.Prefix(lines, max(limit, 3*widestLine)), isAll
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
