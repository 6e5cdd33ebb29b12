package state

import (
	"slices"
	"time"
)

// Here describes the process that drives a run: which agents and jobs it runs, and how it gets answers.
type Here struct {
	Jobs []string // jobs whose states this process runs; nil means all jobs
	// JobOf returns the name of the job that runs a state. It may be nil if Jobs is nil.
	JobOf func(state string) string
	// Part lists the agents of a part of a matrix. Only the waits of these agents, and of agents that
	// they fork, are ended. If Part is nil, the process drives the whole run.
	Part []string
	// NewToken returns 32 random hex digits. If it is nil, questions get no token.
	NewToken func() string
	// HasRead reports whether all answers that were given before a time have been read. A question does
	// not time out before HasRead is true for its timeout. HasRead is nil if answers can't arrive.
	HasRead func(time.Time) bool
	// HasJoin is set if the workflow has a state that may join, so that results must be kept.
	HasJoin bool
}

// runsState reports whether this process runs the state.
func (h Here) runsState(state string) bool {
	return h.Jobs == nil || h.JobOf == nil || slices.Contains(h.Jobs, h.JobOf(state))
}

// hasRead calls HasRead. It returns true if HasRead is nil.
func (h Here) hasRead(until time.Time) bool { return h.HasRead == nil || h.HasRead(until) }

// Restrict limits the step to a part of a matrix: to the named agents and the agents that they fork. The
// step does not change other agents. If part is nil, the step is not limited.
func (s *Step) Restrict(part []string) { s.part = part }

// UpdateWaits begins and ends waits of agents that depend only on the run and the time of the step:
// waits for a time, for agents, and for a job, and timeouts of questions. It also restricts the step to
// h.Part. Call it after each decision in a step.
func (s *Step) UpdateWaits(h Here) {
	s.Restrict(h.Part)
	p := &s.delta.Progress
	p.HasJoin = p.HasJoin || h.HasJoin
	var joining []string
	for a := range s.members() {
		switch {
		case a.Status == Waiting && a.Waits.For == ForAgents:
			joining = append(joining, a.ID)
		case a.Status == Waiting:
			s.updateWait(a, h)
		case a.Status == Ready && h.Jobs != nil:
			s.waitForJob(a, h)
		}
	}
	for _, id := range s.completeJoins(joining) {
		s.endWait(id, "agents")
		s.waitForJob(s.edit(id), h)
	}
}

// Answer ends the agent's wait for an answer and passes the answer to the next state. It does nothing
// if the question with this number is not open.
func (s *Step) Answer(agent string, number int, a Answer) {
	if s.question(agent, number) != nil {
		to := s.endWait(agent, a.By)
		to.Payload, to.By = Text(a.Text), person(a.By)
	}
}

// TimeOut ends the agent's wait for an answer as if its timeout had passed. It does nothing if the
// question with this number is not open or has no timeout.
func (s *Step) TimeOut(agent string, number int) {
	if q := s.question(agent, number); q != nil && q.TimeoutNext != "" {
		s.timeOut(agent, q)
	}
}

// RecordComment stores the id of the comment that asks a question. It does nothing if the question with
// this number is not open.
func (s *Step) RecordComment(agent string, number int, comment int64) {
	if s.question(agent, number) != nil {
		s.editQuestion(agent).Comment = comment
	}
}

// DueTime returns the time at which the next wait for a time ends, for example after <goto after>. It
// ignores the timeouts of questions. It returns the zero time if no agent waits for a time, or if no state
// execution may begin.
func (s *Step) DueTime() time.Time {
	if !s.mayBegin() {
		return time.Time{}
	}
	return s.earliest(func(w *WaitCondition) bool { return w.For == ForTime })
}

// NextUpdate returns the time at which UpdateWaits will next end a wait. This time may be in the past.
// It is zero if no wait ends at a certain time.
func (s *Step) NextUpdate(h Here) time.Time {
	return s.earliest(func(w *WaitCondition) bool { return w.For == ForTime || !w.isOver(s.now) || h.hasRead(w.Until) })
}

// HasOpenQuestion reports whether a question is open and an answer to it would let a state begin.
func (s *Step) HasOpenQuestion() bool {
	asks := func(a *Agent) bool { return a.openQuestion() != nil }
	return s.mayBegin() && count(s.members(), asks) > 0
}
