package ask

import (
	"strconv"
	"time"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/runner/report"
)

// skew is how far the clocks of a machine and of the forge may be apart.
const skew = 30 * time.Second

// openAt returns the questions that somebody may have seen open at a time of the forge, by
// number.
func openAt(asked []report.Wait, t time.Time) map[int]report.Wait {
	open := map[int]report.Wait{}
	for _, w := range asked {
		if !w.Since.After(t.Add(skew)) && (w.To.IsZero() || !w.To.Before(t.Add(-skew))) {
			open[w.Number] = w
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
func address(r job.Remark, said string, here []*question, open map[int]report.Wait) addressee {
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
func sawOthers(q *question, open map[int]report.Wait, at time.Time) bool {
	for number, w := range open {
		if number != q.Number && !w.To.IsZero() && w.To.After(at) && w.Where == q.Where {
			return true
		}
	}
	return false
}
