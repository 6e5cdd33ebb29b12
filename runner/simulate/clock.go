package simulate

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/raymond-action/raymond-action/runner"
)

// Clock is a simulated clock. It stands still while anything works. When the run's owner and all
// workers wait, it jumps to the next alarm. Every worker waits for the clock before it ends, so
// that workers end in a fixed order: by simulated time, and at the same time in the order in which
// they were started.
type Clock struct {
	mu             sync.Mutex // guards the following fields
	now            time.Time
	owner          alarm    // of the run's owner
	busy           int      // workers that the owner waits for
	isOwnerWaiting bool     // the owner waits
	waiters        []waiter // workers that have finished, except for their simulated duration
}

// alarm is a time at which one goroutine is woken up.
type alarm struct {
	at   time.Time
	ring chan time.Time // buffered
}

// waiter is a worker that waits for its simulated duration to end.
type waiter struct {
	alarm
	number int          // number of the invocation: of several alarms at one time, the lowest number is first
	ctxErr func() error // returns an error once the worker's context has been cancelled
}

// NewClock returns a Clock that starts at now.
func NewClock(now time.Time) *Clock { return &Clock{now: now} }

// neverTick is a tick interval that no run reaches: simulated time is not displayed.
const neverTick = 10 * 365 * 24 * time.Hour

// Runner returns the clock in the form that a runner expects.
func (c *Clock) Runner() runner.Clock {
	return runner.Clock{Now: c.nowForOwner, After: c.setAlarm, Idle: c.ownerWaits, Tick: neverTick}
}

// nowForOwner returns the time. The owner calls it first after each wait, so the owner counts as
// busy from here on.
func (c *Clock) nowForOwner() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.isOwnerWaiting = false
	return c.now
}

// setAlarm sets the owner's only alarm.
func (c *Clock) setAlarm(d time.Duration) <-chan time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.owner = alarm{c.now.Add(d), make(chan time.Time, 1)}
	return c.owner.ring
}

// ownerWaits notes that the owner waits for its alarm or for one of busy workers.
func (c *Clock) ownerWaits(busy int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.busy, c.isOwnerWaiting = busy, true
	c.advance()
}

// Wait blocks a finished worker until its duration d, which may be 0, has passed on the clock;
// number is the number of its invocation. It returns early if ctx is cancelled.
func (c *Clock) Wait(ctx context.Context, number int, d time.Duration) {
	c.mu.Lock()
	w := waiter{alarm{c.now.Add(d), make(chan time.Time, 1)}, number, ctx.Err}
	c.waiters = append(c.waiters, w)
	slices.SortFunc(c.waiters, func(a, b waiter) int { return cmp.Or(a.at.Compare(b.at), a.number-b.number) })
	c.advance()
	c.mu.Unlock()
	select {
	case <-w.ring:
	case <-ctx.Done():
		c.mu.Lock()
		defer c.mu.Unlock()
		c.waiters = slices.DeleteFunc(c.waiters, func(o waiter) bool { return o.ring == w.ring })
	}
}

// advance moves the clock to the next alarm if the owner and all workers wait. It does nothing
// while a cancelled worker is about to return.
func (c *Clock) advance() {
	if !c.isOwnerWaiting || len(c.waiters) != c.busy || slices.ContainsFunc(c.waiters, func(w waiter) bool { return w.ctxErr() != nil }) {
		return
	}
	c.isOwnerWaiting = false
	if len(c.waiters) > 0 && c.waiters[0].at.Before(c.owner.at) {
		c.fire(c.waiters[0].alarm)
		c.waiters = c.waiters[1:]
	} else if len(c.owner.ring) == 0 { // the owner may have handled another message although its alarm had already fired
		c.fire(c.owner)
	}
}

func (c *Clock) fire(a alarm) {
	if a.at.After(c.now) {
		c.now = a.at
	}
	a.ring <- c.now
}
