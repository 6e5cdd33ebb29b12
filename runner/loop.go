package runner

import (
	"context"
	"fmt"
	"time"

	"github.com/raymond-action/raymond-action/state"
)

// How invocations are stopped: by SIGINT, then SIGTERM, then SIGKILL. A cancelled run must be
// gone five seconds after the signal, so the intervals after a used-up grace period are shorter.
var (
	deadlineStop = &StopCause{Reason: "deadline", Term: 5 * time.Second, Kill: 3 * time.Second}
	cancelStop   = &StopCause{Reason: "cancelled", Term: 2 * time.Second, Kill: time.Second}
	lateStop     = &StopCause{Reason: "cancelled", Term: 900 * time.Millisecond, Kill: 500 * time.Millisecond}
	brokenStop   = &StopCause{Reason: "the run can't be saved", Term: 2 * time.Second, Kill: time.Second}
)

// cancelGrace is how long states in flight may continue after the first signal.
const cancelGrace = 3 * time.Second

// alarms are times at which the owner must act without an event. A zero time never comes.
type alarms struct{ deadline, grace, tick time.Time }

// earliest returns the first of the alarms and another time.
func (a *alarms) earliest(other time.Time) time.Time {
	at := a.tick
	for _, t := range []time.Time{a.deadline, a.grace, other} {
		if !t.IsZero() && t.Before(at) {
			at = t
		}
	}
	return at
}

// take reports whether an alarm is due, and resets it.
func take(alarm *time.Time, now time.Time) bool {
	if alarm.IsZero() || now.Before(*alarm) {
		return false
	}
	*alarm = time.Time{}
	return true
}

// loop is the owner's loop: it handles the next event until the run has ended.
func (r *Runner) loop(ctx context.Context) error {
	r.alarms.tick = r.now().Add(r.cfg.Clock.Tick)
	var stored <-chan *state.Checkpoint
	if r.cfg.Checkpoints != nil {
		stored = r.cfg.Checkpoints.Stored()
	}
	var timer <-chan time.Time
	var due time.Time // when the timer fires: a flood of messages must not set a new timer each time
	for r.run.Progress.Status == state.Running {
		if at := r.alarms.earliest(r.wakeTime(r.now())); timer == nil || !at.Equal(due) {
			timer, due = r.cfg.Clock.After(max(0, at.Sub(r.now()))), at
		}
		if r.cfg.Clock.Idle != nil {
			r.cfg.Clock.Idle(r.busy)
		}
		var err error
		select {
		case m := <-r.mail:
			err = r.receive(ctx, m)
		case <-timer:
			timer = nil
			err = r.handleAlarms(ctx)
		case name := <-r.cfg.Cancel:
			err = r.cancel(ctx, name)
		case u := <-r.updates:
			err = r.advance(ctx, u.apply)
		case c := <-stored:
			r.cfg.Reporter.Report(r.run.UnsavedEvent(r.now(), nil, c))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// wakeTime returns when the next waiting agent may continue, or its wait ends; zero if no time
// is known.
func (r *Runner) wakeTime(now time.Time) time.Time {
	if r.stop != nil {
		return time.Time{}
	}
	step := r.newStep(now)
	if _, ready := step.Next(r.busy); ready {
		return now // its wait ended while a message was handled
	}
	wake, settle := step.WakeTime(), step.NextUpdate(r.here)
	if wake.IsZero() || !settle.IsZero() && settle.Before(wake) {
		return settle
	}
	return wake
}

// handleAlarms handles the alarms that are due.
func (r *Runner) handleAlarms(ctx context.Context) error {
	now := r.now()
	if take(&r.alarms.tick, now) {
		r.alarms.tick = now.Add(r.cfg.Clock.Tick)
		r.cfg.Reporter.Tick(now)
		r.offer()
	}
	if take(&r.alarms.grace, now) {
		r.endGrace()
	}
	if at := r.alarms.deadline; !at.IsZero() && !at.After(now) {
		return r.advance(ctx, decideNothing)
	}
	if at := r.wakeTime(now); !at.IsZero() && !at.After(now) {
		return r.advance(ctx, decideNothing)
	}
	return nil
}

// reachDeadline returns decide or, if the deadline has passed, decide extended by its effects:
// nothing new starts, and states in flight have a grace period. Every step calls it, because the
// end of a state may be handled before the timer of the deadline, and the next state must not
// start.
func (r *Runner) reachDeadline(decide func(*state.Step)) func(*state.Step) {
	now := r.now()
	if !take(&r.alarms.deadline, now) {
		return decide
	}
	r.stop = &state.Stop{
		Status: state.Suspended, Reason: "the deadline of " + r.cfg.Deadline.String() + " is reached",
		Continuations: r.cfg.Continuations,
	}
	r.alarms.grace = now.Add(time.Duration(r.run.Options.Grace))
	return func(s *state.Step) {
		decide(s)
		s.RecordDeadline(r.cfg.Deadline) // reported at once, because states in flight may continue for a while
	}
}

// cancel handles a signal. The run is saved as one complete snapshot at once, whatever happens
// to the states in flight.
func (r *Runner) cancel(ctx context.Context, name string) error {
	first := r.stop == nil || r.stop.Status != state.Cancelled
	r.stop, r.alarms.deadline = &state.Stop{Status: state.Cancelled, Reason: name}, time.Time{}
	if !first {
		r.end(cancelStop)
		return nil
	}
	if err := r.cfg.Store.WriteSnapshot(r.run, nil); err != nil {
		return err
	}
	r.alarms.grace = r.now().Add(cancelGrace)
	if r.busy > 0 {
		note := fmt.Sprintf("%s: running states have %s to end", name, cancelGrace)
		if name == "SIGINT" {
			note += "; a second SIGINT ends them at once"
		}
		r.cfg.Reporter.Note("", "", note)
	}
	return r.advance(ctx, decideNothing)
}

// endGrace ends the states that are still in flight when their grace period is over.
func (r *Runner) endGrace() {
	if r.stop.Status == state.Suspended {
		r.end(deadlineStop)
		return
	}
	r.end(lateStop)
}
