package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/state"
)

const (
	maxFailures    = 20  // failed agents in the list at the top
	maxExplained   = 3   // failed agents at the top whose failure is explained in detail
	linesOfFailure = 12  // visible lines that explain failures, shared by all failures
	linesOfResult  = 15  // visible lines of the result
	widestLine     = 200 // columns of a visible line
	widestInline   = 100 // columns of a text that is shown without a fenced code block
)

// writeFailures writes why the run has not completed: which agents failed, in which states, and the
// most important lines of their errors and outputs.
func (s *Summary) writeFailures(w *writer) {
	if s.stepError != "" {
		excerpt{what: "The step ended with an error", text: s.stepError, lines: linesOfFailure}.write(w)
	}
	failed, explained, listed := s.failedAgents(), maxExplained, maxFailures
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
		s.writeReason(w)
	}
}

// failedAgents returns the agents that have failed.
func (s *Summary) failedAgents() []*Agent {
	return slices.DeleteFunc(slices.Clone(s.agents()), func(a *Agent) bool { return a.Status != Failed })
}

// listFailures writes how many more agents failed, and then a line with the error of each agent.
// most is the maximum number of these lines.
func listFailures(w *writer, failed []*Agent, most int) {
	w.printf("%s failed", count(len(failed), "more agent"))
	if most == 0 {
		w.write(".\n\n")
		return
	}
	w.write(":\n\n")
	var lines []string
	for _, a := range failed {
		lines = append(lines, fmt.Sprintf("%s in state %s: %s", code(a.ID, widestName), code(a.State, widestName), codeSpan(cutMiddle(a.reason(), widestLine))))
	}
	w.write("- " + strings.Join(FirstOf(lines, most), "\n- ") + "\n\n")
}

// writeFailure explains an agent's failure: its error, its last output, the command that failed in
// its last attempt, and the first tool call that was denied.
func (a *Agent) writeFailure(w *writer, lines int) {
	what := fmt.Sprintf("Agent %s failed in state %s", code(a.ID, widestName), code(a.State, widestName))
	if a.last != nil && a.last.attempt > 1 && !a.last.isExhausted {
		what += fmt.Sprintf(", attempt %d", a.last.attempt)
	}
	excerpt{what: what, text: a.reason(), lines: lines}.write(w)
	for _, one := range a.last.Outputs() {
		excerpt{what: "The end of its " + one.Name, text: one.Text, lines: lines}.write(w)
	}
	a.last.writeFailedCommand(w, lines)
	if len(a.log.refusals) > 0 && w.short == 0 {
		text := codeSpan(cut(a.log.refusals[0].Use, widestRefused)) + refusalDetails(a.log.refusals[0])
		if more := len(a.log.refusals) - 1 + a.log.unlisted; more > 0 {
			text += fmt.Sprintf("; and %s, listed below", count(more, "other use"))
		}
		w.write("It was refused " + text + "\n\n")
	}
}

// writeFailedCommand writes the end of the output of the first command that failed in the last
// attempt. It writes nothing if the attempt was successful or the output is empty.
func (x *Exec) writeFailedCommand(w *writer, lines int) {
	failed := x.FailedCommand()
	if failed == nil || x.lastVerdict().Converged || strings.TrimSpace(failed.Tail) == "" {
		return
	}
	shown, _ := excerpt{text: failed.Tail, lines: lines}.shorten(w)
	w.writeIfRoom(fmt.Sprintf("The end of the output of %s:\n\n%s\n", code(failed.Cmd, widestAgentLine), fence(shown)))
}

// writeReason writes the reason why the run has not completed. It is only called if no agent's
// failure explains this better.
func (s *Summary) writeReason(w *writer) {
	if end := s.model.Ending; end != nil && end.Reason != "" {
		width := w.limit(widestReason)
		w.printf("Why: %s\n\n", code(cutMiddle(end.Reason, width), width))
	}
}

// excerpt describes an untrusted text. Only a few of its lines are visible. In a summary, though
// not in an overview, the complete text follows in a folded section.
type excerpt struct {
	what    string // Markdown before the lines, without a colon
	text    string
	lines   int  // number of visible lines
	fromTop bool // show the first lines instead of the last ones
	isProse bool // the text was written by an agent, so its long lines are wrapped
}

// write writes the visible lines. In a summary with enough room, it also writes the complete text,
// folded. A single short line is written without a fenced code block.
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

// shorten returns the most important lines, limited to about the size that w allows for a text.
// isAll reports whether the complete text is returned.
func (x excerpt) shorten(w *writer) (shown string, isAll bool) {
	limit := w.limit(maxText)
	content := shortenMiddle(x.text, maxResult)
	if x.isProse {
		content = wrap(content)
	}
	all := strings.Split(content, "\n")
	isAll = len(all) <= x.lines && len(x.text) <= maxResult
	for n := min(x.lines, len(all)); ; n-- {
		lines, isCut := x.pick(all, n)
		isAll = isAll && !isCut && n == len(all)
		if len(lines) <= max(limit, 2*widestLine) || n <= minLines {
			return text.Prefix(lines, max(limit, 3*widestLine)), isAll
		}
	}
}

// minLines is the smallest number of lines to which a text is shortened: the first line, a line with
// the number of lines left out, and the last line.
const minLines = 3

// pick returns n lines: all lines, or some lines and a line with the number of the others. Each
// line is shortened to about widestLine columns; isCut reports whether this shortened a line.
func (x excerpt) pick(all []string, n int) (text string, isCut bool) {
	lines := slices.Clone(all)
	if dropped := len(all) - n + 1; dropped > 1 {
		mark := fmt.Sprintf("… %s left out …", count(dropped, "line"))
		if x.fromTop {
			lines = append(lines[:n-1], mark)
		} else { // the first line usually contains the reason for the failure
			lines = slices.Concat(all[:1], []string{mark}, all[dropped+1:])
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
