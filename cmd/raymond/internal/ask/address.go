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

// address finds the question that a remark answers, among those that are open here: nil for none. answer is what is said
// without its number. If the remark fits several questions, and says for none that it is meant, it returns these. It
// depends on what was open when the remark was made, not on what has been answered since:
// "/raymond 1 yes" is never an answer to question 2.
func address(r job.Comment, said string, here []*question, open map[int]report.Wait) (to *question, answer string, several []*question) {
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
			return q, rest, nil
		}
	}
	switch {
	case len(fits) == 0:
		return nil, "", nil
	case len(fits) > 1 || sawOthers(fits[0], open, r.Created):
		return nil, "", fits
	}
	return fits[0], said, nil
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
