package page

import (
	"fmt"
	"slices"
	"time"

	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
)

// stage is a section of an execution: an attempt, an interrupted attempt, or messages that belong to
// no attempt.
type stage struct {
	Title, Mark string // Mark is ok, bad or warn, or empty for a stage that has not ended
	About       string // duration and cost
	Why         string // why the attempt was not successful
	Talk        []shownMessage
	Results     []state.CommandResult
	IsLast      bool // the stage contains the last verdict
}

// occurrence is an event in an execution that is not a message, such as a retry. It either ends a
// stage or is shown as a note in the stage.
type occurrence struct {
	at      time.Time
	ends    *stage
	message shownMessage
}

// stagesOf returns the stages of an execution in chronological order, with their messages.
func stagesOf(e *report.Exec) []stage {
	times := make([]time.Time, len(e.Messages)) // a message without a time gets the time of the previous message
	for i, m := range e.Messages {
		times[i] = later(m.Time, times[max(0, i-1)])
	}
	var out []stage
	var talk []shownMessage
	from := 0
	for _, h := range occurrences(e) {
		to := from
		for to < len(times) && !times[to].After(h.at) {
			to++
		}
		talk, from = append(talk, messagesBetween(e, from, to)...), to
		if h.ends == nil {
			talk = append(talk, h.message)
			continue
		}
		h.ends.Talk = talk
		out, talk = append(out, *h.ends), nil
	}
	talk = append(talk, messagesBetween(e, from, len(times))...)
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

// occurrences returns the verdicts, interruptions, retries and reminders in an execution, in
// chronological order.
func occurrences(e *report.Exec) []occurrence {
	var all []occurrence
	for i, a := range e.Attempts {
		s := &stage{
			Title: fmt.Sprintf("Attempt %d", a.Attempt), Mark: "ok", About: report.FormatSeconds(a.DurationS) + ", " + a.Spent.String(),
			Results: a.Results, IsLast: i == len(e.Attempts)-1,
		}
		if !a.Converged {
			s.Mark, s.Why = "bad", "not done: "+a.FailureText()
		}
		all = append(all, occurrence{at: a.Ended, ends: s})
	}
	for _, c := range e.Interruptions {
		spent := state.Spent{USD: c.CostUSD, Estimated: c.Estimated}
		all = append(all, occurrence{at: c.Time, ends: &stage{
			Title: fmt.Sprintf("Attempt %d, cut off", c.Attempt), Mark: "warn", About: spent.String(), Why: c.Reason + "; it was repeated",
		}})
	}
	note := func(m report.TimedNote, what string) {
		what += m.Text
		if m.BackoffMS > 0 {
			what += ", then waited " + report.FormatDuration(time.Duration(m.BackoffMS)*time.Millisecond)
		}
		all = append(all, occurrence{at: m.Time, message: shownMessage{Kind: "note", Time: m.Time, Brief: what}})
	}
	for _, m := range e.Retries {
		note(m, "retry: ")
	}
	for _, m := range e.Reminders {
		note(m, "reminder: ")
	}
	slices.SortStableFunc(all, func(a, b occurrence) int { return a.at.Compare(b.at) })
	return all
}
