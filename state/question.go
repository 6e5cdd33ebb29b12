package state

import (
	"github.com/raymond-action/raymond-action/protocol"
)

// asks returns the question that the agent waits for an answer to; nil for none.
func (a *Agent) asks() *Question {
	if a.Status != Waiting || a.Waits == nil || a.Waits.For != ForAnswer {
		return nil
	}
	return a.Waits.Question
}

// ask makes an agent wait for the answer to a question, under the next number.
func (s *Step) ask(a *Agent, q *protocol.Question) {
	p := &s.draft.delta.Progress
	p.Questions++
	w := Waits{For: ForAnswer, Question: &Question{
		Number: p.Questions, Text: Text(q.Text), Choices: q.Choices, TimeoutNext: q.TimeoutNext,
		Where: q.Where, From: q.From, Untrusted: q.Untrusted,
	}}
	if q.Timeout > 0 {
		w.Until = s.draft.now.Add(q.Timeout).UTC().Round(0)
	}
	s.await(a, w)
}

// question returns the question of a number that is open for an agent; nil when it isn't.
func (s *Step) question(agent string, number int) *Question {
	a, ok := s.draft.agent(agent)
	if !ok || !s.isMember(a) {
		return nil
	}
	if q := a.asks(); q != nil && q.Number == number {
		return q
	}
	return nil
}

// editQuestion returns a copy of an agent's open question that this step may change.
func (s *Step) editQuestion(agent string) *Question {
	a := s.draft.edit(agent)
	w, q := *a.Waits, *a.Waits.Question
	w.Question, a.Waits = &q, &w
	return &q
}

// Answer ends the wait of an agent for an answer. It does nothing when no question of that
// number is open.
func (s *Step) Answer(agent string, number int, a Answer) {
	if s.question(agent, number) != nil {
		s.proceed(agent, a.By).Payload = Text(a.Text)
	}
}

// TimeOut ends the wait of an agent for an answer as if its time had come. It does nothing
// when no question of that number is open, or when it has no timeout.
func (s *Step) TimeOut(agent string, number int) {
	q := s.question(agent, number)
	if q == nil || q.TimeoutNext == "" {
		return
	}
	s.draft.edit(agent).enter(q.TimeoutNext, "")
	s.proceed(agent, "timeout")
}

// NoteComment notes which comment asks a question. It does nothing when no question of
// that number is open.
func (s *Step) NoteComment(agent string, number int, comment int64) {
	if s.question(agent, number) != nil {
		s.editQuestion(agent).Comment = comment
	}
}
