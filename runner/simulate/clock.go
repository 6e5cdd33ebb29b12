package simulate

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/raymond-action/raymond-action/runner"
)

// Clock is a simulated clock. It stands still while the run's owner or a worker is running. When
// all of them wait, it jumps to the time of the next alarm. Every worker waits for the clock before
// it ends. Workers therefore end in a fixed order: ordered by simulated time and, at the same time,
// by the order in which they were started.
type Clock struct {
	mu             sync.Mutex // guards the following fields
	now            time.Time
	owner          alarm    // alarm of the run's owner
	busy           int      // number of workers that the owner waits for
	isOwnerWaiting bool     // the owner waits for its alarm or for a worker
	waiters        []waiter // workers that have finished and wait until their simulated duration has passed
}

// alarm wakes up one goroutine at a simulated time.
type alarm struct {
	at   time.Time
	ring chan time.Time // receives the time once; has a capacity of 1
}

// waiter is a worker that waits until its simulated duration has passed.
type waiter struct {
	alarm
	number int          // number of the invocation; at the same time, the lowest number is first
	ctxErr func() error // returns an error if the context of the worker was cancelled
}

// NewClock returns a Clock that starts at now.
func NewClock(now time.Time) *Clock { return &Clock{now: now} }

// neverTick is longer than any simulated run: ticks are only needed to display the time.
const neverTick = 10 * 365 * 24 * time.Hour

// Runner returns a runner.Clock that uses this clock.
func (c *Clock) Runner() runner.Clock {
	return runner.Clock{
		// The owner calls Now immediately after each wait.
		Now: func() time.Time {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.isOwnerWaiting = false
			return c.now
		},
		After: func(d time.Duration) <-chan time.Time {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.owner = alarm{c.now.Add(d), make(chan time.Time, 1)}
			return c.owner.ring
		},
		Idle: c.ownerWaits, Tick: neverTick,
	}
}

// ownerWaits records that the owner waits for its alarm or for a worker. busy is the number of
// running workers.
func (c *Clock) ownerWaits(busy int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.busy, c.isOwnerWaiting = busy, true
	c.advance()
}

// Wait blocks a worker that has finished until the duration d has passed on the clock. d may be 0.
// number is the number of the worker's invocation. Wait returns early if ctx is cancelled.
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

// advance moves the clock to the next alarm and wakes up its goroutine, if the owner and all
// workers wait. It does nothing while a worker with a cancelled context has not returned from Wait
// yet.
func (c *Clock) advance() {
	if !c.isOwnerWaiting || len(c.waiters) != c.busy || slices.ContainsFunc(c.waiters, func(w waiter) bool { return w.ctxErr() != nil }) {
		return
	}
	c.isOwnerWaiting = false
	if len(c.waiters) > 0 && c.waiters[0].at.Before(c.owner.at) {
		c.fire(c.waiters[0].alarm)
		c.waiters = c.waiters[1:]
		// If the ring is not empty, the alarm has already fired, but the owner has handled another
		// message since then.
	} else if len(c.owner.ring) == 0 {
		c.fire(c.owner)
	}
}

// fire moves the clock to the time of an alarm and wakes up its goroutine.
func (c *Clock) fire(a alarm) {
	if a.at.After(c.now) {
		c.now = a.at
	}
	a.ring <- c.now
}
