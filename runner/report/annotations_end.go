package report

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/raymond-action/raymond-action/state"
)

// end prepares the annotation that says how the run ended. It is shown at once for a
// completed run, which leaves nothing to do.
func (a *Annotations) end(b *state.RunFinished) {
	n := Annotation{Level: LevelNotice, Title: strings.ReplaceAll(name(string(b.Status)), "_", " ") + " " + a.model.took(b), Text: state.WithoutCode(b.Reason)}
	switch b.Status {
	case state.Completed:
		n.Text = "without a result"
		if b.Result != nil {
			n.Text = cmp.Or(string(*b.Result), "with an empty result")
		}
	case state.Suspended:
		n.Text = strings.TrimSpace(n.Text + "\n" + asked(questions(a.model.openWaits())))
	case state.Failed:
		// If an agent failed, its annotation says why.
		if a.told[LevelError] == 0 {
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
		a.tellEnding("")
	}
}

// maxAsked is how many open questions an annotation quotes.
const maxAsked = 3

// asked quotes the open questions, each on one line: a second line of it could look like
// one of ours.
func asked(open []Wait) string {
	var b strings.Builder
	for _, w := range open[:min(len(open), maxAsked)] {
		fmt.Fprintf(&b, "Question %d: %s\n", w.Number, cut(w.Question, maxAnnotation/(2*maxAsked)))
	}
	if more := len(open) - maxAsked; more > 0 {
		fmt.Fprintf(&b, "and %s\n", count(more, "more question"))
	}
	return b.String()
}

// Next shows how the run ended and what can be done with it.
func (a *Annotations) Next(text string) error {
	a.tellEnding(text)
	return nil
}

func (a *Annotations) tellEnding(next string) {
	n := a.ending
	if n == nil {
		return
	}
	a.ending = nil
	if next != "" {
		n.Text = strings.TrimSpace(middleOut(n.Text, maxAnnotation/2) + "\nNext: " + withoutBackticks(next))
	}
	a.Annotate(*n)
}
