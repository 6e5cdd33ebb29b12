package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/state"
)

// Wait is a wait of an agent, with everything that users need to know about it. Its texts are
// untrusted.
type Wait struct {
	Agent string    `json:"agent"`
	State string    `json:"state"` // state that starts after the wait
	Since time.Time `json:"since"`
	// Comment is the id of the GitHub comment that asks the question, or 0 if it is unknown.
	Comment int64 `json:"comment,omitempty"`
	// Error is only set if the agent waits for a job in which it has failed before. It contains the
	// reason for that failure.
	Error string    `json:"error,omitempty"`
	To    time.Time `json:"to,omitzero"`  // end of the wait; zero if it is not known yet
	By    string    `json:"by,omitempty"` // what ended the wait, or who answered
	// Answer is only set in an insight.Report. It comes from the history of the run.
	Answer string `json:"answer,omitempty"`
	state.AgentWaits
}

// WaitsOf returns the waits of a run's agents, in the order in which the agents were created.
// Unlike events, these waits contain complete questions. If the run is a part of a matrix, only the
// part's agents are included.
func WaitsOf(run *state.Run) []Wait {
	var all []Wait
	var part []string // agents of the matrix part; nil for the whole run
	for _, p := range run.Parts {
		if p.Start == nil {
			continue
		}
		for _, a := range p.Agents {
			part = append(part, a.Agent)
		}
	}
	for _, a := range run.Agents {
		if a.Status != state.Waiting || a.Waits == nil || !isInPart(a.ID, part) {
			continue
		}
		w := Wait{Agent: a.ID, State: a.State, Since: a.Waits.Since, Error: a.Waits.Error}
		w.For, w.Job = a.Waits.For, a.Waits.Job
		if !a.Waits.Until.IsZero() {
			w.Until = a.Waits.Until.UTC().Format(time.RFC3339)
		}
		if q := a.Waits.Question; q != nil {
			w.Number, w.Question, w.Where, w.Comment = q.Number, string(q.Text), q.Where, q.Comment
			w.Choices, w.TimeoutNext, w.From = q.Choices, q.TimeoutNext, q.From
		}
		all = append(all, w)
	}
	return all
}

// isInPart reports whether an agent belongs to a matrix part, or was forked by an agent of the
// part. A nil part means the whole run, so the result is true.
func isInPart(agent string, part []string) bool {
	return part == nil || slices.ContainsFunc(part, func(p string) bool { return agent == p || strings.HasPrefix(agent, p+"_") })
}

// addWaitEvent starts or ends waits after an event about an agent.
func (m *Model) addWaitEvent(e state.Event) {
	switch b := e.Body.(type) {
	case *state.AgentOutput:
	case *state.AgentWaits:
		m.endWait(e, "")
		m.beginWait(Wait{Agent: e.Agent, State: e.State, Since: e.Time, AgentWaits: *b})
	case *state.AgentGoesOn:
		m.endWait(e, b.By)
	case *state.Retry:
		m.endRetry(e)
		if b.BackoffMS > 0 {
			m.beginWait(retryWait(e, e.Time, millisOf(b.BackoffMS)))
		}
	case *state.NodeAttempt:
		m.endRetry(e)
		if b.BackoffS != nil && *b.BackoffS > 0 {
			began := e.Time.Add(-secondsOf(b.DurationS + *b.BackoffS))
			m.Waits = append(m.Waits, retryWait(e, began, secondsOf(*b.BackoffS)))
		}
	case *state.StateStarted, *state.AgentFinished:
		m.endWait(e, "")
	default:
		m.endRetry(e)
	}
}

// ForRetry is the kind of wait before an invocation or an attempt is repeated.
const ForRetry state.WaitFor = "retry"

// retryWait returns a wait before a retry. from is the start of the wait and lasts is its duration, so
// the end of the wait is already known.
func retryWait(e state.Event, from time.Time, lasts time.Duration) Wait {
	w := Wait{Agent: e.Agent, State: e.State, Since: from, To: from.Add(lasts)}
	w.For = ForRetry
	return w
}

// beginWait adds a wait and makes it the current wait of its agent.
func (m *Model) beginWait(w Wait) {
	m.waiting[w.Agent] = len(m.Waits)
	m.Waits = append(m.Waits, w)
}

// SetWaitDetails replaces current waits with more complete data, such as the full question and the
// comment that asks it. It ignores waits that have already ended.
func (m *Model) SetWaitDetails(waits []Wait) {
	for _, w := range waits {
		if i, ok := m.waiting[w.Agent]; ok && m.Waits[i].For == w.For && m.Waits[i].Number == w.Number {
			m.Waits[i] = w
		}
	}
}

// endWait ends an agent's current wait, if there is one. by is what ended the wait, or "" if that
// is unknown.
func (m *Model) endWait(e state.Event, by string) {
	i, ok := m.waiting[e.Agent]
	if !ok {
		return
	}
	delete(m.waiting, e.Agent)
	w := &m.Waits[i]
	w.By = by
	if w.To.IsZero() || w.To.After(e.Time) {
		w.To = e.Time
	}
}

// endRetry ends an agent's current wait if it is for a retry.
func (m *Model) endRetry(e state.Event) {
	if i, ok := m.waiting[e.Agent]; ok && m.Waits[i].For == ForRetry {
		m.endWait(e, "")
	}
}

// openWaits returns the waits that have not ended. It leaves out waits for retries.
func (m *Model) openWaits() []Wait {
	return slices.DeleteFunc(slices.Clone(m.Waits), func(w Wait) bool { return !w.To.IsZero() })
}

// currentWait returns an agent's wait that has not ended. It returns the zero value if the agent does
// not wait, or waits only before a retry.
func (m *Model) currentWait(agent string) Wait {
	if i, ok := m.waiting[agent]; ok && m.Waits[i].For != ForRetry {
		return m.Waits[i]
	}
	return Wait{}
}

// Questions returns all questions of the run. Wait.To is set in closed questions.
func (m *Model) Questions() []Wait { return waitsOfKind(m.Waits, state.ForAnswer) }

// questions returns the waits for answers, ordered by the number of the question.
func questions(waits []Wait) []Wait {
	open := waitsOfKind(waits, state.ForAnswer)
	slices.SortStableFunc(open, func(a, b Wait) int { return cmp.Compare(a.Number, b.Number) })
	return open
}

// timeWaits returns the waits for a time, ordered by that time.
func timeWaits(waits []Wait) []Wait {
	all := waitsOfKind(waits, state.ForTime)
	slices.SortStableFunc(all, func(a, b Wait) int { return a.endTime().Compare(b.endTime()) })
	return all
}

// waitsOfKind returns the waits of one kind, in the same order.
func waitsOfKind(waits []Wait, kind state.WaitFor) []Wait {
	return slices.DeleteFunc(slices.Clone(waits), func(w Wait) bool { return w.For != kind })
}

// endTime returns the time at which the wait ends at the latest, or the zero time if the wait has
// no limit.
func (w *Wait) endTime() time.Time {
	t, _ := time.Parse(time.RFC3339, w.Until) // if this fails, t is the zero time
	return t
}

// untilText formats the time at which the wait ends at the latest. It returns "" if the wait has no
// limit.
func (w *Wait) untilText() string {
	if w.endTime().IsZero() {
		return ""
	}
	return FormatMinute(w.endTime())
}

// FormatMinute formats a time for users. It uses UTC, since readers may be in any time zone.
func FormatMinute(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }

// reasonText describes the reason of the wait. The text contains only raymond's own words and
// names.
func (w *Wait) reasonText() string {
	switch w.For {
	case state.ForTime:
		if w.endTime().IsZero() {
			return "until a time"
		}
		return "until " + w.endTime().UTC().Format("2006-01-02 15:04:05 UTC")
	case state.ForAnswer:
		return fmt.Sprintf("for an answer to question %d", w.Number)
	case state.ForAgents:
		return "for the agents that it forked"
	case state.ForJob:
		return "for the job " + name(w.Job)
	}
	return "for " + name(string(w.For))
}

// Text describes the reason of the wait, as in "until 2026-01-02 03:04:05 UTC". For an answer, the
// text includes the question and the choices, which are untrusted.
func (w *Wait) Text() string {
	text := w.reasonText()
	if w.For != state.ForAnswer {
		return text
	}
	var limits []string
	if len(w.Choices) > 0 {
		limits = append(limits, strings.Join(w.Choices, ", "))
	}
	if until := w.untilText(); until != "" {
		limits = append(limits, "until "+until+", then "+w.TimeoutNext)
	}
	if len(limits) > 0 {
		text += " (" + strings.Join(limits, "; ") + ")"
	}
	return text + ": " + w.Question
}

// endText describes how a wait ended. by is what ended it, or who answered the question.
func (w *Wait) endText(by string) string {
	switch {
	case w.For == state.ForTime:
		return "the time is reached"
	case w.For == state.ForAnswer && by == "timeout":
		return fmt.Sprintf("question %d timed out without an answer", w.Number)
	case w.For == state.ForAnswer && by == "cli":
		return fmt.Sprintf("question %d was answered on the command line", w.Number)
	case w.For == state.ForAnswer:
		return fmt.Sprintf("question %d was answered by %s", w.Number, name(by))
	case w.For == state.ForAgents:
		return "the agents that it forked have ended"
	case w.For == state.ForJob:
		return "running in job " + name(by)
	}
	return "the wait is over: " + name(by)
}
