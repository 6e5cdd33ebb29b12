package page

import (
	"fmt"
	"slices"
	"time"

	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
)

// stage is a part of an execution: an attempt, what was cut off, or all that was said.
type stage struct {
	Title, Mark string // Mark is ok, bad or warn, "" where it has no end
	About       string // what it took
	Why         string // it is not done
	Talk        []said
	Results     []state.CommandResult
	IsLast      bool // the last verdict
}

// happening is something that ends a stage, or is told within one.
type happening struct {
	at   time.Time
	ends *stage
	says said
}

// stagesOf returns what happened in an execution, in its order.
func stagesOf(e *report.Exec) []stage {
	times := make([]time.Time, len(e.Messages)) // of some nobody knows it
	for i, m := range e.Messages {
		times[i] = later(m.Time, times[max(0, i-1)])
	}
	var out []stage
	var talk []said
	from := 0
	for _, h := range happeningsIn(e) {
		to := from
		for to < len(times) && !times[to].After(h.at) {
			to++
		}
		talk, from = append(talk, talkOf(e, from, to)...), to
		if h.ends == nil {
			talk = append(talk, h.says)
			continue
		}
		h.ends.Talk = talk
		out, talk = append(out, *h.ends), nil
	}
	talk = append(talk, talkOf(e, from, len(times))...)
	switch n := len(out); {
	case len(talk) == 0:
	case n == 0:
		out = append(out, stage{Title: "Conversation", Talk: talk})
	case out[n-1].Mark == "warn":
		out = append(out, stage{Title: "Again", Talk: talk})
	case e.Ended.IsZero():
		out = append(out, stage{Title: "Next attempt", Talk: talk})
	default:
		out[n-1].Talk = append(out[n-1].Talk, talk...)
	}
	return out
}

// happeningsIn returns what happened in an execution besides what was said, in its order.
func happeningsIn(e *report.Exec) []happening {
	var all []happening
	for i := range e.Attempts {
		all = append(all, happening{at: e.Attempts[i].Ended, ends: newStage(&e.Attempts[i], i == len(e.Attempts)-1)})
	}
	for _, c := range e.Interruptions {
		spent := state.Spent{USD: c.CostUSD, Estimated: c.Estimated}
		all = append(all, happening{at: c.Time, ends: &stage{
			Title: fmt.Sprintf("Attempt %d, cut off", c.Attempt), Mark: "warn", About: spent.String(), Why: c.Reason + "; it was repeated",
		}})
	}
	note := func(m report.TimedNote, what string) {
		what += m.Text
		if m.BackoffMS > 0 {
			what += ", then waited " + report.FormatDuration(time.Duration(m.BackoffMS)*time.Millisecond)
		}
		all = append(all, happening{at: m.Time, says: said{Kind: "note", Time: m.Time, Brief: what}})
	}
	for _, m := range e.Retries {
		note(m, "retry: ")
	}
	for _, m := range e.Reminders {
		note(m, "reminder: ")
	}
	slices.SortStableFunc(all, func(a, b happening) int { return a.at.Compare(b.at) })
	return all
}

// newStage is an attempt with its verdict.
func newStage(a *report.Attempt, isLast bool) *stage {
	s := &stage{
		Title: fmt.Sprintf("Attempt %d", a.Attempt), Mark: "ok", About: report.FormatSeconds(a.DurationS) + ", " + a.Spent.String(),
		Results: a.Results, IsLast: isLast,
	}
	if !a.Converged {
		s.Mark, s.Why = "bad", "not done: "+a.FailureText()
	}
	return s
}
