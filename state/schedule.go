package state

import (
	"cmp"
	"time"
)

// SetExclusive keeps the agents for which isExclusive returns true from running together with others.
// While any of them can start or is running, Next returns no other agent.
func (s *Step) SetExclusive(isExclusive func(*Agent) bool) { s.isExclusive = isExclusive }

// Next returns the agent that may start next at the time of the step. It returns false if no agent may.
// Agents that continue an execution without a pause come first, then agents whose pause in an execution is
// over, then agents that begin a new execution. The latter take turns in order of creation. If the run is
// blocked, only done_when commands start. busy is the number of agents that are running.
func (s *Step) Next(busy int) (*Agent, bool) {
	if busy >= s.Options().MaxParallel {
		return nil, false
	}
	isBlocked := s.limits().blocked()
	if s.isExclusive != nil {
		if a := s.nextOf(s.isExclusive); a != nil && !isBlocked {
			return a, true
		}
		if count(s.members(), func(a *Agent) bool { return a.Status == Busy && s.isExclusive(a) }) > 0 {
			return nil, false
		}
	}
	if isBlocked {
		return s.nextToVerify()
	}
	a := s.nextOf(func(*Agent) bool { return true })
	return a, a != nil
}

// nextOf returns the next agent among those for which counts returns true, or nil. It must not be called
// if only done_when commands may run.
func (s *Step) nextOf(counts func(*Agent) bool) *Agent {
	mayBegin := s.mayBegin()
	var going, waited, later, first *Agent // candidates; the first non-nil candidate is chosen
	for a := range s.members() {
		switch {
		case a.Status != Ready || a.NotBefore.After(s.now) || !counts(a):
		case a.Exec != nil && a.NotBefore.IsZero():
			going = cmp.Or(going, a)
		case a.Exec != nil:
			waited = cmp.Or(waited, a)
		case !mayBegin:
		case a.N > s.delta.Progress.LastBegun:
			later = cmp.Or(later, a)
		default:
			first = cmp.Or(first, a)
		}
	}
	return cmp.Or(going, waited, later, first)
}

// mayBegin reports whether a new state execution may begin.
func (s *Step) mayBegin() bool {
	limits, failed := s.limits(), count(s.members(), isStuck) > 0
	return !limits.blocked() && !limits.overIterations() && (!failed || s.Options().KeepGoing)
}

// nextToVerify returns an agent whose done_when commands can run, or false. These
// commands are part of an execution that has begun, and cost nothing.
func (s *Step) nextToVerify() (*Agent, bool) {
	for a := range s.members() {
		if a.Status == Ready && a.Exec != nil && a.Exec.Phase == PhaseVerify {
			return a, true
		}
	}
	return nil, false
}

// WakeTime returns the time at which the next pause of an agent ends. It returns the zero time if no agent
// pauses, or if nothing may start.
func (s *Step) WakeTime() time.Time {
	var wake time.Time
	if s.limits().blocked() {
		return wake
	}
	for a := range s.members() {
		waits := a.Status == Ready && a.NotBefore.After(s.now)
		if waits && (wake.IsZero() || a.NotBefore.Before(wake)) {
			wake = a.NotBefore
		}
	}
	return wake
}
