package state

import (
	"iter"
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

// Settle begins and ends the waits of agents, as far as the run and the time of the
// step decide it: times that have come, agents that a join waits for, jobs. It follows each
// decision of a step.
func (s *Step) Settle(h Here) {
	s.Restrict(h.Part)
	s.draft.delta.Progress.HasJoin = s.draft.delta.Progress.HasJoin || h.HasJoin
	var joining []string
	for a := range s.members() {
		switch {
		case a.Status == Waiting && a.Waits.For == ForAgents:
			joining = append(joining, a.ID)
		case a.Status == Waiting:
			s.settleWait(a, h)
		case a.Status == Ready && h.Jobs != nil:
			s.handOver(a, h)
		}
	}
	for _, id := range s.joined(joining) {
		s.handOver(s.draft.edit(id), h)
	}
}

// settleWait ends the wait of an agent if its time has come, or if its job is here.
func (s *Step) settleWait(a *Agent, h Here) {
	switch w := a.Waits; w.For {
	case ForTime:
		if w.isOver(s.draft.now) {
			s.proceed(a.ID, "time")
			s.handOver(s.draft.edit(a.ID), h)
		}
	case ForAnswer:
		if w.isOver(s.draft.now) && h.hasRead(w.Until) {
			s.TimeOut(a.ID, w.Question.Number)
			s.handOver(s.draft.edit(a.ID), h)
		} else if w.Question.Token == "" && h.NewToken != nil {
			s.editQuestion(a.ID).Token = h.NewToken()
		}
	case ForJob:
		if h.runs(a.State) && !s.draft.run.isHeld(a.ID) {
			s.proceed(a.ID, w.Job)
		}
	}
}

// handOver makes an agent that could start wait for the job that runs its state, when
// that job is not here. An execution under way waits with it.
func (s *Step) handOver(a *Agent, h Here) {
	if a.Status != Ready || h.runs(a.State) {
		return
	}
	a = s.draft.edit(a.ID)
	a.Handed++
	s.await(a, Waits{For: ForJob, Job: h.JobOf(a.State)})
}

// await makes an agent wait, and tells it.
func (s *Step) await(a *Agent, w Waits) {
	w.Since = s.draft.now.UTC().Round(0)
	a.Status, a.Waits = Waiting, &w
	s.draft.tell(a, w.event())
}

// proceed ends the wait of an agent, and tells what did.
func (s *Step) proceed(id, by string) *Agent {
	a := s.draft.edit(id)
	a.Status, a.Waits = Ready, nil
	s.draft.tell(a, &AgentGoesOn{By: by})
	return a
}

// runs reports whether a state runs here.
func (h Here) runs(state string) bool {
	return h.Jobs == nil || h.JobOf == nil || slices.Contains(h.Jobs, h.JobOf(state))
}

// hasRead is HasRead, which may be nil.
func (h Here) hasRead(until time.Time) bool { return h.HasRead == nil || h.HasRead(until) }

// DueTime returns when the next wait for a time ends by itself: after <goto after>, not the
// timeouts of questions. It is zero when there is none, and when nothing could start then.
func (s *Step) DueTime() time.Time {
	if !s.mayBegin() {
		return time.Time{}
	}
	return s.earliest(func(w *Waits) bool { return w.For == ForTime })
}

// SettleTime returns when Settle is next going to end a wait because of the time, which
// may be in the past; zero when it never is.
func (s *Step) SettleTime(h Here) time.Time {
	return s.earliest(func(w *Waits) bool { return w.For == ForTime || !w.isOver(s.draft.now) || h.hasRead(w.Until) })
}

// IsAsking reports whether a question is open whose answer would let a state begin.
func (s *Step) IsAsking() bool {
	asks := func(a *Agent) bool { return a.asks() != nil }
	return s.mayBegin() && count(s.members(), asks) > 0
}

// mayBegin reports whether new state executions may begin.
func (s *Step) mayBegin() bool {
	plan := s.schedule()
	return plan.mayBegin && !plan.blocked
}

// earliest returns the earliest time that a wait has which counts; zero when none has.
func (s *Step) earliest(counts func(*Waits) bool) time.Time {
	var first time.Time
	for a := range s.members() {
		if w := a.Waits; w != nil && !w.Until.IsZero() && (first.IsZero() || w.Until.Before(first)) && counts(w) {
			first = w.Until
		}
	}
	return first
}

// Restrict leaves all agents as they are that are not of a part of a matrix: one that is
// named, or has been forked by one. nil is the whole run.
func (s *Step) Restrict(part []string) { s.part = part }

// members returns the agents of the part that the step is restricted to, in order of
// creation.
func (s *Step) members() iter.Seq[*Agent] {
	if s.part == nil {
		return s.draft.agents()
	}
	return func(yield func(*Agent) bool) {
		for a := range s.draft.agents() {
			if s.isMember(a) && !yield(a) {
				return
			}
		}
	}
}

// isMember reports whether an agent is of the part that the step is restricted to.
func (s *Step) isMember(a *Agent) bool {
	for s.part != nil && !slices.Contains(s.part, a.ID) {
		parent, alive := s.draft.agent(a.Parent)
		if !alive {
			return slices.ContainsFunc(s.part, func(id string) bool { return a.Parent == id || descends(a.Parent, id) })
		}
		a = parent
	}
	return true
}
