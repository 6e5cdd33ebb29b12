package state

import (
	"slices"
	"time"
)

// Here describes the process that drives a run, as far as waits depend on it.
type Here struct {
	Jobs []string // jobs whose states this process runs; nil for all
	// JobOf returns the job that runs a state. It may be nil if Jobs is nil.
	JobOf func(state string) string
	// Part has the agents of a part of a matrix: only they, and agents that they fork, leave their
	// waits. nil is the whole run.
	Part []string
	// NewToken returns 32 random hex digits; if nil, questions get no token.
	NewToken func() string
	// HasRead reports whether all answers given before a time have been read. A question does not
	// time out before that. nil if answers can't arrive.
	HasRead func(time.Time) bool
	// HasJoin is set if the workflow has a state that may join, so results must be kept.
	HasJoin bool
}

// runsState reports whether this process runs the state.
func (h Here) runsState(state string) bool {
	return h.Jobs == nil || h.JobOf == nil || slices.Contains(h.Jobs, h.JobOf(state))
}

// hasRead returns the result of HasRead, or true if it is nil.
func (h Here) hasRead(until time.Time) bool { return h.HasRead == nil || h.HasRead(until) }

// Restrict limits the step to a part of a matrix: the named agents and agents that they fork. Other
// agents stay unchanged. nil is the whole run.
func (s *Step) Restrict(part []string) { s.part = part }

// UpdateWaits begins and ends waits of agents, as far as the run and the time of the step decide it:
// times, joins and jobs. Call it after each decision of a step.
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

// Answer ends the wait of an agent for an answer. It does nothing unless the question with this number
// is open.
func (s *Step) Answer(agent string, number int, a Answer) {
	if s.question(agent, number) != nil {
		to := s.endWait(agent, a.By)
		to.Payload, to.By = Text(a.Text), person(a.By)
	}
}

// TimeOut ends the wait of an agent for an answer, as if its timeout had passed. It does nothing unless
// the question with this number is open and has a timeout.
func (s *Step) TimeOut(agent string, number int) {
	if q := s.question(agent, number); q != nil && q.TimeoutNext != "" {
		s.timeOut(agent, q)
	}
}

// RecordComment stores the id of the comment that asks a question. It does nothing unless the question
// with this number is open.
func (s *Step) RecordComment(agent string, number int, comment int64) {
	if s.question(agent, number) != nil {
		s.editQuestion(agent).Comment = comment
	}
}

// DueTime returns when the next wait for a time ends, for example after <goto after>. It ignores the
// timeouts of questions. It returns the zero time if no wait ends, or if nothing could start then.
func (s *Step) DueTime() time.Time {
	if !s.mayBegin() {
		return time.Time{}
	}
	return s.earliest(func(w *WaitCondition) bool { return w.For == ForTime })
}

// NextUpdate returns when UpdateWaits will next end a wait because of the time, which may be in the
// past. It returns the zero time if no wait depends on the time.
func (s *Step) NextUpdate(h Here) time.Time {
	return s.earliest(func(w *WaitCondition) bool { return w.For == ForTime || !w.isOver(s.now) || h.hasRead(w.Until) })
}

// HasOpenQuestion reports whether a question is open whose answer would let a state begin.
func (s *Step) HasOpenQuestion() bool {
	asks := func(a *Agent) bool { return a.openQuestion() != nil }
	return s.mayBegin() && count(s.members(), asks) > 0
}
