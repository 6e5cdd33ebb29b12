package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/state"
)

// Wait is an agent that waits, with all that people must know of it. Others wrote the
// texts in it.
type Wait struct {
	Agent string    `json:"agent"`
	State string    `json:"state"` // which starts when the wait ends
	Since time.Time `json:"since"`
	// Comment is the one that asks the question; 0 where there is none, or it isn't known.
	Comment int64 `json:"comment,omitempty"`
	// Error is why it waits for a job again: it failed there.
	Error string    `json:"error,omitempty"`
	To    time.Time `json:"to,omitzero"`  // when the wait ended; zero while it goes on
	By    string    `json:"by,omitempty"` // what ended it, or who answered
	// Answer is known of a run's history alone.
	Answer string `json:"answer,omitempty"`
	state.AgentWaits
}

// WaitsOf returns the agents of a run that wait, in order of creation. Unlike those of
// events, their questions are whole. In a part of a matrix they are the part's own.
func WaitsOf(run *state.Run) []Wait {
	var all []Wait
	var part []string // the agents of the part of a matrix that a run is; nil for the run itself
	for _, p := range run.Parts {
		if p.Start == nil {
			continue
		}
		for _, a := range p.Agents {
			part = append(part, a.Agent)
		}
	}
	for _, a := range run.Agents {
		if a.Status != state.Waiting || a.Waits == nil || !isMember(a.ID, part) {
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

// isMember reports whether an agent is one of a part, or was forked by one. Of no part it is
// always true.
func isMember(agent string, part []string) bool {
	return part == nil || slices.ContainsFunc(part, func(p string) bool { return agent == p || strings.HasPrefix(agent, p+"_") })
}

// addWait takes an event about an agent that may begin to wait, or no longer waits.
func (m *Model) addWait(e state.Event) {
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

// ForRetry is what an agent waits for before an invocation or an attempt is tried again.
const ForRetry state.WaitFor = "retry"

func retryWait(e state.Event, from time.Time, lasts time.Duration) Wait {
	w := Wait{Agent: e.Agent, State: e.State, Since: from, To: from.Add(lasts)}
	w.For = ForRetry
	return w
}

func (m *Model) beginWait(w Wait) {
	m.waiting[w.Agent] = len(m.Waits)
	m.Waits = append(m.Waits, w)
}

// SetWaitDetails takes what is known of agents that wait besides what events say of them: questions as a
// whole, and the comments that ask them. What is no longer true has no effect.
func (m *Model) SetWaitDetails(waits []Wait) {
	for _, w := range waits {
		if i, ok := m.waiting[w.Agent]; ok && m.Waits[i].For == w.For && m.Waits[i].Number == w.Number {
			m.Waits[i] = w
		}
	}
}

// endWait ends the wait of an agent, if it waits; by is what ended it, "" for what happened to
// the agent otherwise.
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

// endRetry ends the wait of an agent if it waits for a retry.
func (m *Model) endRetry(e state.Event) {
	if i, ok := m.waiting[e.Agent]; ok && m.Waits[i].For == ForRetry {
		m.endWait(e, "")
	}
}

// openWaits returns the waits that have not ended, but for those before retries.
func (m *Model) openWaits() []Wait {
	return slices.DeleteFunc(slices.Clone(m.Waits), func(w Wait) bool { return !w.To.IsZero() })
}

// wait returns the wait of an agent that has not ended, zero for none.
func (m *Model) wait(agent string) Wait {
	if i, ok := m.waiting[agent]; ok && m.Waits[i].For != ForRetry {
		return m.Waits[i]
	}
	return Wait{}
}

// Questions returns the questions of the run, open or not; those have a To.
func (m *Model) Questions() []Wait { return ofKind(m.Waits, state.ForAnswer) }

// questions returns those that wait for an answer, in the order of their numbers.
func questions(waits []Wait) []Wait {
	open := ofKind(waits, state.ForAnswer)
	slices.SortStableFunc(open, func(a, b Wait) int { return cmp.Compare(a.Number, b.Number) })
	return open
}

// timed returns those that wait for a time, the first to come first.
func timed(waits []Wait) []Wait {
	all := ofKind(waits, state.ForTime)
	slices.SortStableFunc(all, func(a, b Wait) int { return a.end().Compare(b.end()) })
	return all
}

func ofKind(waits []Wait, kind state.WaitFor) []Wait {
	return slices.DeleteFunc(slices.Clone(waits), func(w Wait) bool { return w.For != kind })
}

// end is when the agent no longer waits, zero where no time is set.
func (w *Wait) end() time.Time {
	t, _ := time.Parse(time.RFC3339, w.Until) // it is zero then
	return t
}

// untilText is the time when the agent no longer waits, "" where none is set.
func (w *Wait) untilText() string {
	if w.end().IsZero() {
		return ""
	}
	return FormatMinute(w.end())
}

// FormatMinute is a time as people are told when they may do something: in UTC, since readers may be anywhere.
func FormatMinute(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }

// what says what the agent waits for, in our own words and names.
func (w *Wait) what() string {
	switch w.For {
	case state.ForTime:
		if w.end().IsZero() {
			return "until a time"
		}
		return "until " + w.end().UTC().Format("2006-01-02 15:04:05 UTC")
	case state.ForAnswer:
		return fmt.Sprintf("for an answer to question %d", w.Number)
	case state.ForAgents:
		return "for the agents that it forked"
	case state.ForJob:
		return "for the job " + name(w.Job)
	}
	return "for " + name(string(w.For))
}

// Text says what the agent waits for, as in "until 2026-01-02 03:04 UTC", and asks. Others
// wrote the question and the choices in it.
func (w *Wait) Text() string {
	text := w.what()
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

// endText says what has ended a wait.
func (w *Wait) endText(by string) string {
	switch {
	case w.For == state.ForTime:
		return "the time has come"
	case w.For == state.ForAnswer && by == "timeout":
		return fmt.Sprintf("nobody has answered question %d in time", w.Number)
	case w.For == state.ForAnswer && by == "cli":
		return fmt.Sprintf("question %d is answered on the command line", w.Number)
	case w.For == state.ForAnswer:
		return fmt.Sprintf("question %d is answered by %s", w.Number, name(by))
	case w.For == state.ForAgents:
		return "the agents that it forked have ended"
	case w.For == state.ForJob:
		return "this is the job " + name(by)
	}
	return "the wait is over: " + name(by)
}
