package report

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/raymond-action/raymond-action/state"
)

// prepareEnding prepares the annotation about the end of the run. If the run has completed, the
// annotation is shown immediately, without next steps.
func (a *Annotations) prepareEnding(b *state.RunFinished) {
	n := Annotation{Level: LevelNotice, Title: strings.ReplaceAll(name(string(b.Status)), "_", " ") + " " + a.model.costSummary(b), Text: state.WithoutCode(b.Reason)}
	switch b.Status {
	case state.Completed:
		n.Text = "without a result"
		if b.Result != nil {
			n.Text = cmp.Or(string(*b.Result), "with an empty result")
		}
	case state.Suspended:
		n.Text = strings.TrimSpace(n.Text + "\n" + quoteQuestions(questions(a.model.openWaits())))
	case state.Failed:
		// If an agent has failed, the agent's annotation already contains the reason.
		if a.counts[LevelError] == 0 {
			n.Level = LevelError
		} else {
			n.Text = failedAgent(b.Reason)
		}
	case state.Cancelled:
		n.Level = LevelWarning
	default:
		n.Level = LevelError
	}
	if a.ending = &n; b.Status == state.Completed {
		a.showEnding("")
	}
}

// maxQuoted is the maximum number of open questions in an annotation.
const maxQuoted = 3

// quoteQuestions quotes the open questions. Each question becomes one line, so that no part of it
// can look like a line of the annotation.
func quoteQuestions(open []Wait) string {
	var b strings.Builder
	for _, w := range open[:min(len(open), maxQuoted)] {
		fmt.Fprintf(&b, "Question %d: %s\n", w.Number, cut(w.Question, maxAnnotation/(2*maxQuoted)))
	}
	if more := len(open) - maxQuoted; more > 0 {
		fmt.Fprintf(&b, "and %s\n", count(more, "more question"))
	}
	return b.String()
}

// Next shows how the run ended and how to continue it.
func (a *Annotations) Next(text string) error {
	a.showEnding(text)
	return nil
}

// showEnding shows the annotation about the end of the run, with the next steps. Later calls do
// nothing.
func (a *Annotations) showEnding(next string) {
	n := a.ending
	if n == nil {
		return
	}
	a.ending = nil
	if next != "" {
		n.Text = strings.TrimSpace(shortenMiddle(n.Text, maxAnnotation/2) + "\nNext: " + withoutBackticks(next))
	}
	a.Annotate(*n)
}
