package ask

import (
	"slices"
	"strconv"
	"time"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/state"
)

// skew is how far the clocks of a machine and of the forge may be apart.
const skew = 30 * time.Second

// History knows when the questions of a run were open, from the run's events. The zero
// value knows of none.
type History struct{ spans []span }

// span is when a question was open.
type span struct {
	agent  string
	number int
	where  int // as the question names it
	since  time.Time
	until  time.Time // zero: it is open
}

// Report implements report.Reporter.
func (h *History) Report(e state.Event) error {
	switch b := e.Body.(type) {
	case *state.AgentWaits:
		if b.For == state.ForAnswer && b.Number > 0 {
			h.spans = append(h.spans, span{e.Agent, b.Number, b.Where, e.Time, time.Time{}})
		}
	case *state.AgentGoesOn:
		for i := range h.spans {
			if s := &h.spans[i]; s.agent == e.Agent && s.until.IsZero() {
				s.until = e.Time
			}
		}
	}
	return nil
}

// Close implements report.Reporter.
func (h *History) Close() error { return nil }

// copy returns a history that no longer changes.
func (h *History) copy() History { return History{slices.Clone(h.spans)} }

// openAt returns the questions that somebody may have seen open at a time of the forge, by
// number.
func (h *History) openAt(t time.Time) map[int]span {
	open := map[int]span{}
	for _, s := range h.spans {
		if !s.since.After(t.Add(skew)) && (s.until.IsZero() || !s.until.Before(t.Add(-skew))) {
			open[s.number] = s
		}
	}
	return open
}

// addressee is what a remark is meant for.
type addressee struct {
	question *question   // nil: none that is open here
	said     string      // without the number
	several  []*question // it fits all of these and says for none that it is meant
}

// address finds the question that a remark answers, among those that are open here. It
// depends on what was open when the remark was made, not on what has been answered since:
// "/raymond 1 yes" is never an answer to question 2.
func address(r job.Remark, said string, here []*question, open map[int]span) addressee {
	numbers := map[int]*question{} // those that were open anywhere; nil: not here
	for n := range open {
		numbers[n] = nil
	}
	var fits []*question
	for _, q := range here {
		if q.isAfter(r) {
			fits = append(fits, q)
			numbers[q.Number] = q
		}
	}
	first, rest := firstWord(said)
	if n, err := strconv.Atoi(first); err == nil && len(numbers) > 1 {
		if q, isOpen := numbers[n]; isOpen {
			return addressee{question: q, said: rest}
		}
	}
	switch {
	case len(fits) == 0:
		return addressee{}
	case len(fits) > 1 || sawOthers(fits[0], open, r.Created):
		return addressee{several: fits}
	}
	return addressee{question: fits[0], said: said}
}

// sawOthers reports whether, besides a question, one was open at the same place that has
// been answered since.
func sawOthers(q *question, open map[int]span, at time.Time) bool {
	for number, s := range open {
		if number != q.Number && !s.until.IsZero() && s.until.After(at) && s.where == q.Where {
			return true
		}
	}
	return false
}
