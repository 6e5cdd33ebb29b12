package state

import (
	"time"

	"github.com/raymond-action/raymond-action/protocol"
)

// askQuestion makes an agent wait for the answer to a question, and gives the question the next number.
func (s *Step) askQuestion(a *Agent, q *protocol.Question) {
	p := &s.delta.Progress
	p.Questions++
	what := WaitCondition{For: ForAnswer, Question: &Question{
		Number: p.Questions, Text: Text(q.Text), Choices: q.Choices, TimeoutNext: q.TimeoutNext,
		Where: q.Where, From: q.From, Untrusted: q.Untrusted,
	}}
	if q.Timeout > 0 {
		what.Until = s.timeAfter(q.Timeout)
	}
	s.beginWait(a, what)
}

// timeAfter returns the time that is d after the time of the step.
func (s *Step) timeAfter(d time.Duration) time.Time { return s.now.Add(d).UTC().Round(0) }

// beginWait makes an agent wait for the condition what, and emits AgentWaits.
func (s *Step) beginWait(a *Agent, what WaitCondition) {
	what.Since = s.timeAfter(0)
	a.Status, a.Waits = Waiting, &what
	s.emit(a, what.event())
}

// endWait ends the agent's wait, and emits AgentGoesOn. by names the cause.
func (s *Step) endWait(id, by string) *Agent {
	a := s.edit(id)
	a.Status, a.Waits = Ready, nil
	s.emit(a, &AgentGoesOn{By: by})
	return a
}

// updateWait ends the agent's wait if its time has passed, or if this process runs the job for which the
// agent waits. It also gives a token to a question that has no token.
func (s *Step) updateWait(a *Agent, h Here) {
	switch what := a.Waits; what.For {
	case ForTime:
		if what.isOver(s.now) {
			s.waitForJob(s.endWait(a.ID, "time"), h)
		}
	case ForAnswer:
		if what.isOver(s.now) && h.hasRead(what.Until) {
			s.waitForJob(s.timeOut(a.ID, what.Question), h)
		} else if what.Question.Token == "" && h.NewToken != nil {
			s.editQuestion(a.ID).Token = h.NewToken()
		}
	case ForJob:
		if h.runsState(a.State) && !s.run.Parts.mayBeRunning(a.ID) {
			s.endWait(a.ID, what.Job)
		}
	}
}

// timeOut ends the wait for an answer because of its timeout, and moves the agent to the state that the
// question names for this case.
func (s *Step) timeOut(id string, q *Question) *Agent {
	a := s.edit(id)
	a.uncountVisit()
	a.enter(q.TimeoutNext, "")
	return s.endWait(id, "timeout")
}

// waitForJob makes a ready agent wait for the job that runs its state, unless this process runs that job.
// If the agent is in a state execution, the job continues the execution.
func (s *Step) waitForJob(a *Agent, h Here) {
	if a.Status != Ready || h.runsState(a.State) {
		return
	}
	a = s.edit(a.ID)
	a.Handovers++
	s.beginWait(a, WaitCondition{For: ForJob, Job: h.JobOf(a.State)})
}

// limitWait shortens the agent's wait if it would take longer than intended because the clock was set
// back.
func (s *Step) limitWait(a *Agent) {
	what := *a.Waits
	if whole := what.Until.Sub(what.Since); !what.Until.IsZero() && what.Until.After(s.now.Add(whole)) {
		what.Since, what.Until = s.timeAfter(0), s.timeAfter(whole)
		s.edit(a.ID).Waits = &what
	}
}

// question returns the agent's open question with the given number, or nil.
func (s *Step) question(agent string, number int) *Question {
	a, ok := s.Agent(agent)
	if !ok || !s.isMember(a) {
		return nil
	}
	if q := a.openQuestion(); q != nil && q.Number == number {
		return q
	}
	return nil
}

// editQuestion returns the step's own copy of an agent's open question, which the step may change.
func (s *Step) editQuestion(agent string) *Question {
	a := s.edit(agent)
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
