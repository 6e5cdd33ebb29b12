package state

import (
	"slices"
	"time"
)

// HasWork reports whether a process that resumes the run now finds anything to do, at once
// or within hold, where negative is without end: a state that may start, or a wait that
// ends, be it for another one, as when a time has come and the state is another job's. Only a suspended run may have nothing due:
// all its agents wait, or it is not to be resumed before its time. Answers that are not in
// the state yet are the caller's to look for.
func (r *Run) HasWork(now time.Time, h Here, hold time.Duration) bool {
	p := &r.Progress
	if p.Status != Suspended {
		return true
	}
	s := r.Step(now)
	if count(s.Agents(), isUnderWay) > 0 {
		return !p.Until.After(now)
	}
	s.Resume(nil)
	s.UpdateWaits(h)
	if _, ready := s.Next(0); ready || !s.WakeTime().IsZero() {
		return true
	}
	if due := s.DueTime(); !due.IsZero() && (hold < 0 || due.Sub(now) <= hold) {
		return true
	}
	return s.Delta().HasOtherEvents()
}

// HasOtherEvents reports whether a step that resumes a run changes anything else.
func (d *Delta) HasOtherEvents() bool {
	return slices.ContainsFunc(d.Events, func(e Event) bool {
		_, opens := e.Body.(*RunStarted)
		return !opens
	})
}
