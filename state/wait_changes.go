package state

import (
	"time"

	"github.com/raymond-action/raymond-action/protocol"
)

// askQuestion makes an agent wait for the answer to a question, and gives the question the next number.
func (r *recorder) askQuestion(a *Agent, q *protocol.Question) {
	p := &r.delta.Progress
	p.Questions++
	what := WaitCondition{For: ForAnswer, Question: &Question{
		Number: p.Questions, Text: Text(q.Text), Choices: q.Choices, TimeoutNext: q.TimeoutNext,
		Where: q.Where, From: q.From, Untrusted: q.Untrusted,
	}}
	if q.Timeout > 0 {
		what.Until = inUTC(r.now.Add(q.Timeout))
	}
	r.beginWait(a, what)
}

// beginWait makes an agent wait for the condition what, and emits AgentWaits.
func (r *recorder) beginWait(a *Agent, what WaitCondition) {
	what.Since = inUTC(r.now)
	a.Status, a.Waits = Waiting, &what
	r.emit(a, what.event())
}

// endWait ends the agent's wait, and emits AgentGoesOn. by names the cause.
func (r *recorder) endWait(a *Agent, by string) {
	a.Status, a.Waits = Ready, nil
	r.emit(a, &AgentGoesOn{By: by})
}

// timeOut ends the wait for an answer because of its timeout, and moves the agent to the state that the
// question names for this case.
func (r *recorder) timeOut(a *Agent) {
	a.uncountVisit()
	a.enter(a.Waits.Question.TimeoutNext, "")
	r.endWait(a, timedOut)
}

// inUTC returns a time as it is read back from a file: without a monotonic clock reading.
func inUTC(t time.Time) time.Time { return t.UTC().Round(0) }

// limitWait shortens the agent's wait if it would take longer than intended because the clock was set
// back.
func (d *draft) limitWait(a *Agent) {
	what := *a.Waits
	if whole := what.Until.Sub(what.Since); !what.Until.IsZero() && what.Until.After(d.now.Add(whole)) {
		what.Since, what.Until = inUTC(d.now), inUTC(d.now.Add(whole))
		d.edit(a.ID).Waits = &what
	}
}

// copyQuestion replaces the agent's open question by a copy, so that it can be changed, and returns the
// copy.
func (a *Agent) copyQuestion() *Question {
	what, q := *a.Waits, *a.Waits.Question
	what.Question, a.Waits = &q, &what
	return &q
}

// openQuestion returns the question for whose answer the agent waits, or nil.
func (a *Agent) openQuestion() *Question {
	if a.Status != Waiting || a.Waits == nil || a.Waits.For != ForAnswer {
		return nil
	}
	return a.Waits.Question
}
