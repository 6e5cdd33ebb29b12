package state

import (
	"slices"
	"time"
)

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
