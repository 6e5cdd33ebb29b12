package runner

import (
	"context"
	"fmt"
	"time"

	"github.com/raymond-action/raymond-action/state"
)

// How invocations are stopped: by SIGINT, then SIGTERM, then SIGKILL. A cancelled run must be gone
// five seconds after the signal. Therefore lateStop, which follows a grace period, has shorter
// intervals than cancelStop.
var (
	deadlineStop = &StopCause{Reason: "deadline", Term: 5 * time.Second, Kill: 3 * time.Second}
	cancelStop   = &StopCause{Reason: "cancelled", Term: 2 * time.Second, Kill: time.Second}
	lateStop     = &StopCause{Reason: "cancelled", Term: 900 * time.Millisecond, Kill: 500 * time.Millisecond}
	brokenStop   = &StopCause{Reason: "the run can't be saved", Term: 2 * time.Second, Kill: time.Second}
)

// cancelGrace is how long running states may continue after the first signal.
const cancelGrace = 3 * time.Second

// alarms are times at which the owner must act although nothing has happened. A zero time means
// that there is no alarm.
type alarms struct{ deadline, grace, tick time.Time }

// take reports whether an alarm is due. If it is, take clears the alarm.
func take(alarm *time.Time, now time.Time) bool {
	if alarm.IsZero() || now.Before(*alarm) {
		return false
	}
	*alarm = time.Time{}
	return true
}

// loop is the owner's loop. It handles one event after another until the run has ended.
func (r *Runner) loop(ctx context.Context) error {
	r.alarms.tick = r.now().Add(r.cfg.Clock.Tick)
	var stored <-chan *state.Checkpoint
	if r.cfg.Checkpoints != nil {
		stored = r.cfg.Checkpoints.Stored()
	}
	var timer <-chan time.Time
	// due is when the timer fires. A new timer is set only if this time changes, and not after each
	// of many messages.
	var due time.Time
	for r.run.Progress.Status == state.Running {
		at := r.alarms.tick
		for _, t := range []time.Time{r.alarms.deadline, r.alarms.grace, r.wakeTime(r.now())} {
			if !t.IsZero() && t.Before(at) {
				at = t
			}
		}
		if timer == nil || !at.Equal(due) {
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

// wakeTime returns the time at which the next waiting agent may continue or at which its wait
// ends. It returns zero if no such time is known.
func (r *Runner) wakeTime(now time.Time) time.Time {
	if r.stop != nil {
		return time.Time{}
	}
	schedule := r.newStep(now).Schedule()
	if _, ready := schedule.Next(r.busy); ready {
		return now // the wait of an agent ended while a message was handled
	}
	wake, settle := schedule.WakeTime(), schedule.NextUpdate(r.here)
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
		cause := lateStop
		if r.stop.Status == state.Suspended {
			cause = deadlineStop
		}
		r.end(cause)
	}
	if at := r.alarms.deadline; !at.IsZero() && !at.After(now) {
		return r.advance(ctx, decideNothing)
	}
	if at := r.wakeTime(now); !at.IsZero() && !at.After(now) {
		return r.advance(ctx, decideNothing)
	}
	return nil
}

// reachDeadline returns decide, unless the deadline has passed. In that case it returns a function
// that calls decide and then records the deadline. From then on, nothing new starts, and running
// states have a grace period. Every step calls reachDeadline, because the end of a state may be
// handled before the timer of the deadline, and the next state must not start.
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
		s.RecordDeadline(r.cfg.Deadline) // reported immediately, because running states may continue for a while
	}
}

// cancel handles a signal. The first signal saves the run immediately as one complete snapshot,
// whatever happens to the running states. The second signal ends these states.
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

// mailbox is the capacity of the channel to the owner. Workers can report lines without waiting
// for the owner as long as the channel is not full.
const mailbox = 16

// batch returns the message first and the messages that are waiting in the channel, but at most
// mailbox messages in all, because new ones may arrive all the time.
func (r *Runner) batch(first message) []message {
	all := []message{first}
	for len(all) < mailbox {
		select {
		case m := <-r.mail:
			all = append(all, m)
		default:
			return all
		}
	}
	return all
}

// drain stops the workers that are still running after an error, and waits for them, so that
// nothing outlives Run.
func (r *Runner) drain() {
	r.end(brokenStop)
	for r.busy > 0 {
		if m := <-r.mail; m.progress == nil {
			r.busy--
		}
	}
}
