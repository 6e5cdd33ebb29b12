package report

import (
	"fmt"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
)

const (
	// maxOverview is how long the overview may be, in bytes. GitHub accepts comments
	// of up to 65,536 characters.
	maxOverview        = 8<<10 - 1
	maxOverviewFailure = 600 // bytes of what failed
	overviewLines      = 10  // of a failure and of a result
)

// overview returns the short form of the summary, in at most maxOverview bytes.
func (d *document) overview() string {
	for limit := maxOverview / 8; ; limit /= 2 {
		if text := d.overviewWithin(limit); len(text) <= maxOverview || limit == 0 {
			return text
		}
	}
}

// overviewWithin is the overview, with about limit bytes for each text.
func (d *document) overviewWithin(limit int) string {
	w := &writer{}
	d.headline(w)
	d.differences(w)
	d.writeWaits(w, shortDetail(limit))
	d.atWork(w)
	d.firstFailure(w, min(limit, maxOverviewFailure))
	d.stopped(w)
	d.next(w, limit)
	d.report(w)
	d.shortResult(w, limit)
	return w.String()
}

// firstFailure writes which agent failed first, and why; of the others how many.
func (d *document) firstFailure(w *writer, limit int) {
	if d.stepError != "" {
		stepError(d.stepError, overviewLines).writeShort(w, limit)
	}
	failed := d.failed()
	if len(failed) == 0 {
		d.reason(w, limit)
		return
	}
	a := failed[0]
	what := a.failedWhere()
	if more := len(failed) - 1; more > 0 {
		what += fmt.Sprintf(" (%s failed)", count(more, "more agent"))
	}
	excerpt{what: what, text: a.why(), lines: overviewLines}.writeShort(w, limit)
	outputs := a.outputs.list()
	for _, one := range outputs {
		end := passage{head: block(text.End(one.text, maxOutput))}
		excerpt{what: "The end of its " + one.name, text: end, lines: overviewLines}.writeShort(w, limit/len(outputs))
	}
	if last := a.verdicts.failed(a.last); last != nil {
		last.explain(w, overviewLines, limit)
	}
}

func (d *document) shortResult(w *writer, limit int) {
	result := d.runResult()
	switch {
	case result.isEmpty():
	case d.links.shortResult(result) != "":
		w.write(d.links.shortResult(result))
	default:
		excerpt{what: "**Result**", text: result, lines: overviewLines, fromTop: true, isProse: true}.writeShort(w, limit)
		if limit > longestLink {
			w.write(d.links.list(result))
		}
	}
}
