package state

import (
	"slices"
	"time"
)

// Here says where a run is driven, as far as waits depend on it.
type Here struct {
	Jobs []string // whose states run here; nil for all
	// JobOf returns the job of a state. It may be nil when Jobs is.
	JobOf func(state string) string
	// Part names the agents of a part of a matrix: only they, and those that they fork,
	// leave their waits. nil is the whole run.
	Part []string
	// NewToken returns 32 random hex digits; nil leaves questions without a token.
	NewToken func() string
	// HasRead reports whether all answers that have come before a time are known. No
	// question times out before that. nil when there are none.
	HasRead func(time.Time) bool
	// HasJoin says that a state of the workflow may join, so that what it may join is kept.
	HasJoin bool
}

// runs reports whether a state runs here.
func (h Here) runs(state string) bool {
	return h.Jobs == nil || h.JobOf == nil || slices.Contains(h.Jobs, h.JobOf(state))
}

// hasRead is HasRead, which may be nil.
func (h Here) hasRead(until time.Time) bool { return h.HasRead == nil || h.HasRead(until) }

// Restrict leaves all agents as they are that are not of a part of a matrix: one that is
// named, or has been forked by one. nil is the whole run.
func (s *Step) Restrict(part []string) { s.part = part }

// UpdateWaits begins and ends the waits of agents, as far as the run and the time of the
// step decide it: times that have come, agents that a join waits for, jobs. It follows each
// decision of a step.
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
			s.settleOne(a, h)
		case a.Status == Ready && h.Jobs != nil:
			s.handOver(a, h)
		}
	}
	for _, id := range s.completeJoins(joining) {
		s.proceed(id, "agents")
		s.handOver(s.edit(id), h)
	}
}

// Answer ends the wait of an agent for an answer. It does nothing when no question of that
// number is open.
func (s *Step) Answer(agent string, number int, a Answer) {
	if s.question(agent, number) != nil {
		to := s.proceed(agent, a.By)
		to.Payload, to.By = Text(a.Text), person(a.By)
	}
}

// TimeOut ends the wait of an agent for an answer as if its time had come. It does nothing
// when no question of that number is open, or when it has no timeout.
func (s *Step) TimeOut(agent string, number int) {
	if q := s.question(agent, number); q != nil && q.TimeoutNext != "" {
		s.timeOut(agent, q)
	}
}

// RecordComment notes which comment asks a question. It does nothing when no question of
// that number is open.
func (s *Step) RecordComment(agent string, number int, comment int64) {
	if s.question(agent, number) != nil {
		s.editQuestion(agent).Comment = comment
	}
}

// DueTime returns when the next wait for a time ends by itself: after <goto after>, not the
// timeouts of questions. It is zero when there is none, and when nothing could start then.
func (s *Step) DueTime() time.Time {
	if !s.begins() {
		return time.Time{}
	}
	return s.earliest(func(w *WaitCondition) bool { return w.For == ForTime })
}

// NextUpdate returns when Settle is next going to end a wait because of the time, which
// may be in the past; zero when it never is.
func (s *Step) NextUpdate(h Here) time.Time {
	return s.earliest(func(w *WaitCondition) bool { return w.For == ForTime || !w.isOver(s.now) || h.hasRead(w.Until) })
}

// HasOpenQuestion reports whether a question is open whose answer would let a state begin.
func (s *Step) HasOpenQuestion() bool {
	asks := func(a *Agent) bool { return a.asks() != nil }
	return s.begins() && count(s.members(), asks) > 0
}
