package runner

import (
	"context"
	"time"

	"github.com/raymond-action/raymond-action/state"
)

// How invocations are ended, from the language page §7: SIGINT, then SIGTERM,
// then SIGKILL. A cancelled run must be gone five seconds after the signal, so
// the steps that follow a used-up grace are shorter.
var (
	deadlineStop = &Stopping{Reason: "deadline", Term: 5 * time.Second, Kill: 3 * time.Second}
	cancelStop   = &Stopping{Reason: "cancelled", Term: 2 * time.Second, Kill: time.Second}
	lateStop     = &Stopping{Reason: "cancelled", Term: 900 * time.Millisecond, Kill: 500 * time.Millisecond}
	brokenStop   = &Stopping{Reason: "the run can't be saved", Term: 2 * time.Second, Kill: time.Second}
)

// cancelGrace is how long states in flight may go on after the first signal.
const cancelGrace = 3 * time.Second

// alarms are the times at which the owner has something to do by itself; zero
// ones never come.
type alarms struct{ deadline, grace, tick time.Time }

// loop is the owner.
func (r *Runner) loop(ctx context.Context) error {
	now := r.now()
	r.alarms.tick = now.Add(tickEvery)
	if r.cfg.Deadline > 0 {
		r.alarms.deadline = now.Add(r.cfg.Deadline)
	}
	stored := r.stored()
	var timer <-chan time.Time
	var due time.Time // when it fires: not every line of a flood sets a new one
	for r.run.Progress.Status == state.Running {
		if at := r.next(); timer == nil || !at.Equal(due) {
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
			err = r.ring(ctx)
		case name := <-r.cfg.Cancel:
			err = r.cancel(ctx, name)
		case c := <-stored:
			r.cfg.Reporter.Report(r.run.Say(r.now(), "", "", c))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// next is the earliest time at which the owner has something to do.
func (r *Runner) next() time.Time {
	at := r.alarms.tick
	for _, t := range []time.Time{r.alarms.deadline, r.alarms.grace, r.wake()} {
		if !t.IsZero() && t.Before(at) {
			at = t
		}
	}
	return at
}

// wake is when the next waiting agent may go on.
func (r *Runner) wake() time.Time {
	if r.stop != nil {
		return time.Time{}
	}
	step := r.run.Step(r.now())
	if _, ready := step.Next(r.busy); ready {
		return r.now() // its wait ended while something else was taken in
	}
	return step.WakeTime()
}

// ring does what is due.
func (r *Runner) ring(ctx context.Context) error {
	now := r.now()
	due := func(t *time.Time) bool {
		if t.IsZero() || now.Before(*t) {
			return false
		}
		*t = time.Time{}
		return true
	}
	if due(&r.alarms.tick) {
		r.alarms.tick = now.Add(tickEvery)
		r.cfg.Reporter.Tick(now)
		r.offer()
	}
	if due(&r.alarms.grace) {
		r.expired()
	}
	if due(&r.alarms.deadline) && r.stop == nil {
		return r.expire(ctx)
	}
	if _, ready := r.run.Step(now).Next(r.busy); ready && r.stop == nil {
		return r.advance(ctx, nothing)
	}
	return nil
}

// expire is the deadline: nothing new starts, states in flight get the grace.
func (r *Runner) expire(ctx context.Context) error {
	r.stop = &state.Stop{Status: state.Suspended, Reason: "the deadline of " + r.cfg.Deadline.String() + " is reached", Deadline: r.cfg.Deadline}
	r.alarms.grace = r.now().Add(time.Duration(r.run.Options.Grace))
	// Told at once: states in flight may go on for a while.
	return r.advance(ctx, func(s *state.Step) { s.ReachDeadline(r.cfg.Deadline) })
}

// cancel takes in a signal. The state is complete in one file within the time a
// save takes, whatever becomes of the states in flight.
func (r *Runner) cancel(ctx context.Context, name string) error {
	first := r.stop == nil || r.stop.Status != state.Cancelled
	r.stop = &state.Stop{Status: state.Cancelled, Reason: name}
	if !first {
		r.end(cancelStop)
		return nil
	}
	if err := r.cfg.Store.Fold(r.run); err != nil {
		return err
	}
	r.alarms.grace = r.now().Add(cancelGrace)
	return r.advance(ctx, nothing)
}

// expired ends what is in flight when the grace is used up.
func (r *Runner) expired() {
	if r.stop.Status == state.Suspended {
		r.end(deadlineStop)
		return
	}
	r.end(lateStop)
}
