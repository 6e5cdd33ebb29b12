package runner

import (
	"context"
	"fmt"
	"time"

	"github.com/raymond-action/raymond-action/state"
)

// How invocations are ended, from the language page §7: SIGINT, then SIGTERM,
// then SIGKILL. A cancelled run must be gone five seconds after the signal, so
// the steps that follow a used-up grace are shorter.
var (
	deadlineStop = &StopCause{Reason: "deadline", Term: 5 * time.Second, Kill: 3 * time.Second}
	cancelStop   = &StopCause{Reason: "cancelled", Term: 2 * time.Second, Kill: time.Second}
	lateStop     = &StopCause{Reason: "cancelled", Term: 900 * time.Millisecond, Kill: 500 * time.Millisecond}
	brokenStop   = &StopCause{Reason: "the run can't be saved", Term: 2 * time.Second, Kill: time.Second}
)

// cancelGrace is how long states in flight may continue after the first signal.
const cancelGrace = 3 * time.Second

// alarms are the times at which the owner has something to do by itself. A zero
// time never comes.
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

// take reports whether an alarm has come, and resets it.
func take(alarm *time.Time, now time.Time) bool {
	if alarm.IsZero() || now.Before(*alarm) {
		return false
	}
	*alarm = time.Time{}
	return true
}

// loop is the owner: it waits for whatever comes next, until the run has ended.
func (r *Runner) loop(ctx context.Context) error {
	r.alarms.tick = r.now().Add(r.cfg.Clock.Tick)
	var stored <-chan *state.Checkpoint
	if r.cfg.Checkpoints != nil {
		stored = r.cfg.Checkpoints.Stored()
	}
	var timer <-chan time.Time
	var due time.Time // when it fires: not every line of a flood sets a new one
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

// wakeTime is when the next waiting agent may continue, or its wait ends; zero when there
// is none.
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

// handleAlarms does what is due.
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
		return r.advance(ctx, nothing)
	}
	if at := r.wakeTime(now); !at.IsZero() && !at.After(now) {
		return r.advance(ctx, nothing)
	}
	return nil
}

// reachDeadline returns what a step decides, with what the deadline adds to it once that has
// come: nothing new starts, and states in flight have their grace. Each step asks for it, as
// what ends a state may be heard of before the timer, and the next state must not start.
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
		s.RecordDeadline(r.cfg.Deadline) // told at once: states in flight may continue for a while
	}
}

// cancel handles a signal. The run is complete in one file within the time that a
// save takes, whatever becomes of the states in flight.
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
		told := fmt.Sprintf("%s: what is under way has %s to end", name, cancelGrace)
		if name == "SIGINT" {
			told += "; once more ends it at once"
		}
		r.cfg.Reporter.Note("", "", told)
	}
	return r.advance(ctx, nothing)
}

// endGrace ends the states that are still in flight when the grace is used up.
func (r *Runner) endGrace() {
	if r.stop.Status == state.Suspended {
		r.end(deadlineStop)
		return
	}
	r.end(lateStop)
}
