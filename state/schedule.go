package state

import (
	"iter"
	"time"
)

// schedule decides which agent takes a free slot, and when the next one can.
type schedule struct {
	agents    iter.Seq[*Agent] // in order of creation
	now       time.Time
	lastBegun int  // number of the agent that began an execution last
	blocked   bool // nothing may start that could cost anything
	mayBegin  bool // new executions may begin
}

// begins reports whether a new execution may begin.
func (s schedule) begins() bool { return s.mayBegin && !s.blocked }

// next returns the agent that takes a free slot, as Step.Next describes it.
func (s schedule) next() (*Agent, bool) {
	if s.blocked {
		return s.nextToVerify()
	}
	var going, waited, later, first *Agent // in order of precedence
	for a := range s.agents {
		switch {
		case a.Status != Ready || a.NotBefore.After(s.now):
		case a.Exec != nil && a.NotBefore.IsZero():
			going = a
		case a.Exec != nil:
			waited = either(waited, a)
		case !s.mayBegin:
		case a.N > s.lastBegun:
			later = either(later, a)
		default:
			first = either(first, a)
		}
		if going != nil {
			break
		}
	}
	a := either(either(going, waited), either(later, first))
	return a, a != nil
}

// either returns a, or b when a is nil.
func either(a, b *Agent) *Agent {
	if a != nil {
		return a
	}
	return b
}

// nextToVerify returns an agent whose done_when commands are to run. They belong
// to what has begun already, and cost nothing.
func (s schedule) nextToVerify() (*Agent, bool) {
	for a := range s.agents {
		if a.Status == Ready && a.Exec != nil && a.Exec.Phase == PhaseVerify {
			return a, true
		}
	}
	return nil, false
}

// wakeTime is Step.WakeTime.
func (s schedule) wakeTime() time.Time {
	var wake time.Time
	if s.blocked {
		return wake
	}
	for a := range s.agents {
		waits := a.Status == Ready && a.NotBefore.After(s.now)
		if waits && (wake.IsZero() || a.NotBefore.Before(wake)) {
			wake = a.NotBefore
		}
	}
	return wake
}
