package report

import (
	"cmp"
	"strings"

	"github.com/raymond-action/raymond-action/state"
)

// end prepares what tells how the run ended. A completed run leaves nothing to do, so
// it is told at once.
func (a *Annotations) end(b *state.RunFinished) {
	n := Annotation{Level: LevelNotice, Title: a.headline(b), Text: b.Reason}
	switch b.Status {
	case state.Completed:
		n.Text = "without a result"
		if b.Result != nil {
			n.Text = cmp.Or(string(*b.Result), "with an empty result")
		}
	case state.Suspended:
	case state.Failed:
		// If an agent failed, its annotation says why.
		if l := a.levels[LevelError]; l == nil {
			n.Level = LevelError
		} else {
			n.Text = whose(b.Reason)
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

func (a *Annotations) headline(b *state.RunFinished) string {
	text := strings.ReplaceAll(name(string(b.Status)), "_", " ") + " in " + millis(b.DurationMS) + ", " + b.Spent().String()
	if a.budget > 0 {
		text += " of " + a.budget.Dollars()
	}
	return text
}

// Next tells how the run ended and what can be done with it.
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
		n.Text = strings.TrimSpace(shorten(n.Text, mostAnnotation/2) + "\nNext: " + uncoded(next))
	}
	a.Annotate(*n)
}
