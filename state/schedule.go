package state

import (
	"cmp"
	"time"
)

// SetExclusive has some agents run at once with each other alone: while one of them is ready or running, Next returns no other agent.
func (s *Step) SetExclusive(isAlone func(*Agent) bool) { s.alone = isAlone }

// Next returns the agent that takes the next free slot at the time of the step, and
// false when there is none. First come executions under way, then those that waited for
// a retry, then new ones, round-robin in order of creation. When nothing may start,
// done_when commands are still run. busy is the number of slots that are taken.
func (s *Step) Next(busy int) (*Agent, bool) {
	if busy >= s.Options().MaxParallel {
		return nil, false
	}
	isBlocked := s.limits().blocked()
	if s.alone != nil {
		if a := s.nextOf(s.alone); a != nil && !isBlocked {
			return a, true
		}
		if count(s.members(), func(a *Agent) bool { return a.Status == Busy && s.alone(a) }) > 0 {
			return nil, false
		}
	}
	if isBlocked {
		return s.nextToVerify()
	}
	a := s.nextOf(func(*Agent) bool { return true })
	return a, a != nil
}

// nextOf is Next for some of the agents, but for done_when commands.
func (s *Step) nextOf(counts func(*Agent) bool) *Agent {
	mayBegin := s.begins()
	var going, waited, later, first *Agent // in order of precedence
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

// begins reports whether a new execution may begin.
func (s *Step) begins() bool {
	limits, failed := s.limits(), count(s.members(), isStuck) > 0
	return !limits.blocked() && !limits.overIterations() && (!failed || s.Options().KeepGoing)
}

// nextToVerify returns an agent whose done_when commands are to run. They belong
// to what has begun already, and cost nothing.
func (s *Step) nextToVerify() (*Agent, bool) {
	for a := range s.members() {
		if a.Status == Ready && a.Exec != nil && a.Exec.Phase == PhaseVerify {
			return a, true
		}
	}
	return nil, false
}

// WakeTime returns when the next agent that is held back may continue; the zero time when there
// is no such agent.
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
