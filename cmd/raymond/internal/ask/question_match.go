package ask

import (
	"strconv"
	"time"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/runner/report"
)

// skew is the largest assumed difference between this machine's clock and the forge's.
const skew = 30 * time.Second

// openAt returns the questions that may have been open at the forge's time t, by number.
func openAt(asked []report.Wait, t time.Time) map[int]report.Wait {
	open := map[int]report.Wait{}
	for _, w := range asked {
		if !w.Since.After(t.Add(skew)) && (w.To.IsZero() || !w.To.Before(t.Add(-skew))) {
			open[w.Number] = w
		}
	}
	return open
}

// matchQuestion finds the question that the comment r answers, in the list here. It returns the question, or
// nil, and the answer without a leading question number. If r may answer several questions and names none of
// them, it returns all of them as the result several. A question counts if it was open when the comment was
// written, even if it has been answered since: "/raymond 1 yes" never answers question 2.
func matchQuestion(r job.Comment, text string, here []*question, open map[int]report.Wait) (to *question, answer string, several []*question) {
	numbers := map[int]*question{} // the questions that were open on any issue, by number; the value is nil for questions that are not in the list here
	for n := range open {
		numbers[n] = nil
	}
	var fits []*question
	for _, q := range here {
		if q.precedes(r) {
			fits = append(fits, q)
			numbers[q.Number] = q
		}
	}
	first, rest := firstWord(text)
	if n, err := strconv.Atoi(first); err == nil && len(numbers) > 1 {
		if q, isOpen := numbers[n]; isOpen {
			return q, rest, nil
		}
	}
	switch {
	case len(fits) == 0:
		return nil, "", nil
	case len(fits) > 1 || hadOtherQuestion(fits[0], open, r.Created):
		return nil, "", fits
	}
	return fits[0], text, nil
}

// hadOtherQuestion reports whether another question was open on q's issue at the given time, and has been
// closed since. open contains the questions that were open at that time.
func hadOtherQuestion(q *question, open map[int]report.Wait, at time.Time) bool {
	for number, w := range open {
		if number != q.Number && !w.To.IsZero() && w.To.After(at) && w.Where == q.Where {
			return true
		}
	}
	return false
}
