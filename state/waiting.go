package state

import (
	"time"

	"github.com/raymond-action/raymond-action/protocol"
)

// ask makes an agent wait for the answer to a question, under the next number.
func (s *Step) ask(a *Agent, q *protocol.Question) {
	p := &s.delta.Progress
	p.Questions++
	what := WaitCondition{For: ForAnswer, Question: &Question{
		Number: p.Questions, Text: Text(q.Text), Choices: q.Choices, TimeoutNext: q.TimeoutNext,
		Where: q.Where, From: q.From, Untrusted: q.Untrusted,
	}}
	if q.Timeout > 0 {
		what.Until = s.later(q.Timeout)
	}
	s.await(a, what)
}

// later returns the time a while after that of the step.
func (s *Step) later(d time.Duration) time.Time { return s.now.Add(d).UTC().Round(0) }

// await makes an agent wait, and tells it.
func (s *Step) await(a *Agent, what WaitCondition) {
	what.Since = s.later(0)
	a.Status, a.Waits = Waiting, &what
	s.tell(a, what.event())
}

// proceed ends the wait of an agent, and tells what did.
func (s *Step) proceed(id, by string) *Agent {
	a := s.edit(id)
	a.Status, a.Waits = Ready, nil
	s.tell(a, &AgentGoesOn{By: by})
	return a
}

// settleOne ends the wait of an agent if its time has come, or if its job is here.
func (s *Step) settleOne(a *Agent, h Here) {
	switch what := a.Waits; what.For {
	case ForTime:
		if what.isOver(s.now) {
			s.handOver(s.proceed(a.ID, "time"), h)
		}
	case ForAnswer:
		if what.isOver(s.now) && h.hasRead(what.Until) {
			s.handOver(s.timeOut(a.ID, what.Question), h)
		} else if what.Question.Token == "" && h.NewToken != nil {
			s.editQuestion(a.ID).Token = h.NewToken()
		}
	case ForJob:
		if h.runs(a.State) && !s.run.Parts.hold(a.ID) {
			s.proceed(a.ID, what.Job)
		}
	}
}

// timeOut has an agent continue without an answer to its question.
func (s *Step) timeOut(id string, q *Question) *Agent {
	a := s.edit(id)
	a.leave()
	a.enter(q.TimeoutNext, "")
	return s.proceed(id, "timeout")
}

// handOver makes an agent that could start wait for the job that runs its state, when
// that job is not here. An execution under way waits with it.
func (s *Step) handOver(a *Agent, h Here) {
	if a.Status != Ready || h.runs(a.State) {
		return
	}
	a = s.edit(a.ID)
	a.Handovers++
	s.await(a, WaitCondition{For: ForJob, Job: h.JobOf(a.State)})
}

// bound keeps a changed clock from making a wait longer than it was meant to be.
func (s *Step) bound(a *Agent) {
	what := *a.Waits
	if whole := what.Until.Sub(what.Since); !what.Until.IsZero() && what.Until.After(s.now.Add(whole)) {
		what.Since, what.Until = s.later(0), s.later(whole)
		s.edit(a.ID).Waits = &what
	}
}

// question returns the question of a number that is open for an agent; nil when it isn't.
func (s *Step) question(agent string, number int) *Question {
	a, ok := s.Agent(agent)
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
	a := s.edit(agent)
	what, q := *a.Waits, *a.Waits.Question
	what.Question, a.Waits = &q, &what
	return &q
}

// asks returns the question that the agent waits for an answer to; nil for none.
func (a *Agent) asks() *Question {
	if a.Status != Waiting || a.Waits == nil || a.Waits.For != ForAnswer {
		return nil
	}
	return a.Waits.Question
}
