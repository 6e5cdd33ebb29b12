package ask

import (
	"strconv"
	"time"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
)

// addressee is what a remark is meant for.
type addressee struct {
	question *question   // nil: none that is open here
	said     string      // without the number
	several  []*question // it fits all of these and says for none that it is meant
}

// address finds the question that a remark answers, among those that are open here. It
// depends on what was open when the remark was made, not on what has been answered since:
// "/raymond 1 yes" is never an answer to question 2.
func address(r job.Remark, said string, here []*question, open map[int]*span) addressee {
	var fits []*question
	for _, q := range here {
		if q.isAfter(r) {
			fits = append(fits, q)
		}
	}
	number, rest := firstWord(said)
	if n, err := strconv.Atoi(number); err == nil && countOpen(open, fits) > 1 && (open[n] != nil || byNumber(fits, n) != nil) {
		return addressee{question: byNumber(fits, n), said: rest}
	}
	switch {
	case len(fits) == 0:
		return addressee{}
	case len(fits) > 1 || sawOthers(fits[0], open, r.Created):
		return addressee{several: fits}
	}
	return addressee{question: fits[0], said: said}
}

// countOpen counts the questions that were open anywhere.
func countOpen(open map[int]*span, here []*question) int {
	n := len(open)
	for _, q := range here {
		if open[q.Number] == nil {
			n++
		}
	}
	return n
}

// sawOthers reports whether, besides a question, one was open at the same place that has
// been answered since.
func sawOthers(q *question, open map[int]*span, at time.Time) bool {
	for number, s := range open {
		if number != q.Number && !s.until.IsZero() && s.until.After(at) && s.where == q.Where {
			return true
		}
	}
	return false
}

func byNumber(list []*question, n int) *question {
	for _, q := range list {
		if q.Number == n {
			return q
		}
	}
	return nil
}
