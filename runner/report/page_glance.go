package report

import (
	"fmt"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
)

const (
	// mostGlance is how long the run at a glance may be, in bytes. GitHub takes
	// comments of 65,536 characters.
	mostGlance        = 8<<10 - 1
	mostGlanceFailure = 600 // bytes of what failed
	linesAtAGlance    = 10  // of a failure and of a result
)

// glance returns the run at a glance, in less than mostGlance bytes.
func (d document) glance() string {
	for most := mostGlance / 8; ; most /= 2 {
		if text := d.shortened(most); len(text) <= mostGlance || most == 0 {
			return text
		}
	}
}

// shortened is the run at a glance, with most bytes for each text.
func (d document) shortened(most int) string {
	w := &writer{}
	d.headline(w)
	d.differences(w)
	d.atWork(w)
	d.firstFailure(w, min(most, mostGlanceFailure))
	d.stopped(w)
	d.next(w, most)
	d.shortResult(w, most)
	return w.String()
}

// firstFailure writes which agent failed first, and why; of the others how many.
func (d document) firstFailure(w *writer, most int) {
	if d.stepError != "" {
		stepError(d.stepError, linesAtAGlance).writeShort(w, most)
	}
	failed := d.history.agents.failed()
	if len(failed) == 0 {
		d.reason(w, most)
		return
	}
	a := failed[0]
	what := a.failedWhere()
	if more := len(failed) - 1; more > 0 {
		what += fmt.Sprintf(" (%s failed)", count(more, "more agent"))
	}
	excerpt{what: what, text: a.failure.text, lines: linesAtAGlance}.writeShort(w, most)
	outputs := a.failure.outputs.list()
	for _, one := range outputs {
		end := passage{head: block(text.After(one.text, mostOutput))}
		excerpt{what: "The end of its " + one.name, text: end, lines: linesAtAGlance}.writeShort(w, most/len(outputs))
	}
	if last := a.verdicts.failed(); last != nil {
		last.explain(w, linesAtAGlance, most)
	}
}

func (d document) shortResult(w *writer, most int) {
	result := d.history.result
	switch {
	case result.isEmpty():
	case d.links.shortResult(result) != "":
		w.write(d.links.shortResult(result))
	default:
		excerpt{what: "**Result**", text: result, lines: linesAtAGlance, fromTop: true, isProse: true}.writeShort(w, most)
		if most > longestLink {
			w.write(d.links.list(result))
		}
	}
}
