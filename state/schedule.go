package state

import (
	"cmp"
	"iter"
	"slices"
	"time"
)

// Schedule decides which agents may start, and when the next pause or wait ends. It is valid until its
// step changes.
type Schedule struct {
	members     iter.Seq[*Agent]
	limits      limits
	now         time.Time
	isExclusive func(*Agent) bool // may be nil
}

// Schedule returns the schedule of the agents that the step may change.
func (s *Step) Schedule() Schedule { return Schedule{s.members(), s.limits(), s.now, s.isExclusive} }

// SetExclusive keeps the agents for which isExclusive returns true from running together with others.
// While any of them can start or is running, Schedule.Next returns no other agent.
func (s *Step) SetExclusive(isExclusive func(*Agent) bool) { s.isExclusive = isExclusive }

// Next returns the agent that may start next at the time of the step. It returns false if no agent may.
// Agents that continue an execution without a pause come first, then agents whose pause in an execution is
// over, then agents that begin a new execution. The latter take turns in order of creation. If the run is
// blocked, only done_when commands start. busy is the number of agents that are running.
func (s Schedule) Next(busy int) (*Agent, bool) {
	if busy >= s.limits.options.MaxParallel {
		return nil, false
	}
	isBlocked := s.limits.blocked()
	if s.isExclusive != nil {
		exclusive := filter(s.members, s.isExclusive)
		if a := s.next(exclusive); a != nil && !isBlocked {
			return a, true
		}
		if count(exclusive, func(a *Agent) bool { return a.Status == Busy }) > 0 {
			return nil, false
		}
	}
	if !isBlocked {
		a := s.next(s.members)
		return a, a != nil
	}
	// done_when commands are part of an execution that has begun, and cost nothing.
	for a := range s.members {
		if a.Status == Ready && a.Exec != nil && a.Exec.Phase == PhaseVerify {
			return a, true
		}
	}
	return nil, false
}

// next returns the next one of the given agents, or nil. It must not be called if only done_when commands
// may run.
func (s Schedule) next(agents iter.Seq[*Agent]) *Agent {
	mayBegin := s.mayBegin()
	var going, waited, later, first *Agent // candidates; the first non-nil candidate is chosen
	for a := range agents {
		switch {
		case a.Status != Ready || a.NotBefore.After(s.now):
		case a.Exec != nil && a.NotBefore.IsZero():
			going = cmp.Or(going, a)
		case a.Exec != nil:
			waited = cmp.Or(waited, a)
		case !mayBegin:
		case a.N > s.limits.progress.LastBegun:
			later = cmp.Or(later, a)
		default:
			first = cmp.Or(first, a)
		}
	}
	return cmp.Or(going, waited, later, first)
}

// mayBegin reports whether a new state execution may begin.
func (s Schedule) mayBegin() bool {
	return !s.limits.blocked() && !s.limits.overIterations() && (s.limits.options.KeepGoing || count(s.members, isStuck) == 0)
}

// WakeTime returns the time at which the next pause of an agent ends. It returns the zero time if no agent
// pauses, or if nothing may start.
func (s Schedule) WakeTime() time.Time {
	var wake time.Time
	if s.limits.blocked() {
		return wake
	}
	for a := range s.members {
		isPause := a.Status == Ready && a.NotBefore.After(s.now)
		if isPause && (wake.IsZero() || a.NotBefore.Before(wake)) {
			wake = a.NotBefore
		}
	}
	return wake
}

// DueTime returns the time at which the next wait for a time ends, for example after <goto after>. It
// ignores the timeouts of questions. It returns the zero time if no agent waits for a time, or if no state
// execution may begin.
func (s Schedule) DueTime() time.Time {
	if !s.mayBegin() {
		return time.Time{}
	}
	return firstEnd(s.members, func(w *WaitCondition) bool { return w.For == ForTime })
}

// NextUpdate returns the time at which Step.UpdateWaits will next end a wait. This time may be in the past.
// It is zero if no wait ends at a certain time.
func (s Schedule) NextUpdate(h Here) time.Time {
	return firstEnd(s.members, func(w *WaitCondition) bool { return w.For == ForTime || !w.isOver(s.now) || h.hasRead(w.Until) })
}

// HasOpenQuestion reports whether a question is open and an answer to it would let a state begin.
func (s Schedule) HasOpenQuestion() bool {
	asks := func(a *Agent) bool { return a.openQuestion() != nil }
	return s.mayBegin() && count(s.members, asks) > 0
}

// firstEnd returns the earliest time at which a wait of the agents ends. It considers only waits for which
// counts returns true. Without such a wait, it returns the zero time.
func firstEnd(agents iter.Seq[*Agent], counts func(*WaitCondition) bool) time.Time {
	var first time.Time
	for a := range agents {
		if w := a.Waits; w != nil && !w.Until.IsZero() && (first.IsZero() || w.Until.Before(first)) && counts(w) {
			first = w.Until
		}
	}
	return first
}

// HasWork reports whether a process that resumes the run at the time now would find anything to do, now or
// within the time hold. If hold is negative, the time is not limited. Work is a state that may start, or a
// wait that ends, even if the agent then waits for another job. Only a suspended run may have nothing to
// do: all its agents wait, or it must not be resumed yet. HasWork does not consider answers that have not
// been read, so the caller must check for them.
func (r *Run) HasWork(now time.Time, h Here, hold time.Duration) bool {
	p := &r.Progress
	if p.Status != Suspended {
		return true
	}
	s := r.Step(now)
	// A Busy agent of a saved run was interrupted.
	isUnderWay := func(a *Agent) bool { return a.Status == Ready || a.Status == Busy }
	if count(s.Agents(), isUnderWay) > 0 {
		return !p.Until.After(now)
	}
	s.Resume(nil)
	s.UpdateWaits(h)
	schedule := s.Schedule()
	if _, ready := schedule.Next(0); ready || !schedule.WakeTime().IsZero() {
		return true
	}
	if due := schedule.DueTime(); !due.IsZero() && (hold < 0 || due.Sub(now) <= hold) {
		return true
	}
	return s.Delta().HasOtherEvents()
}

// HasOtherEvents reports whether a step that resumes a run also does something else. It does if it has an
// event other than run_started.
func (d *Delta) HasOtherEvents() bool {
	return slices.ContainsFunc(d.Events, func(e Event) bool {
		_, opens := e.Body.(*RunStarted)
		return !opens
	})
}
