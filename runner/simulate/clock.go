package simulate

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/raymond-action/raymond-action/runner"
)

// Clock is a clock that stands still while anything works, and jumps to the next
// point in time at which something is to happen when everything waits. Everything
// that runs ends by waiting for it, so that things end in one order, whatever
// the machine does: by the clock, and at one time as they were started.
type Clock struct {
	mu    sync.Mutex // guards what follows
	now   time.Time
	owner alarm    // what the owner of the run waits for
	busy  int      // workers the owner waits for
	idle  bool     // the owner waits
	wait  []waiter // workers that are done but for the time it takes
	news  int      // waiters let go that were no polls
}

// alarm is a point in time and who waits for it.
type alarm struct {
	at   time.Time
	ring chan time.Time // buffered
}

// waiter is a worker that waits.
type waiter struct {
	alarm
	number int // of the start: the first that was started ends first
	poll   bool
	done   <-chan struct{} // it waits no longer
}

// NewClock returns a Clock that shows the given time.
func NewClock(now time.Time) *Clock { return &Clock{now: now} }

// seldom is longer than a run waits for anything: nobody is shown how simulated time
// passes.
const seldom = 10 * 365 * 24 * time.Hour

// Runner returns the clock in the form that a runner takes.
func (c *Clock) Runner() runner.Clock {
	return runner.Clock{Now: c.nowForOwner, After: c.after, Idle: c.waits, Tick: seldom}
}

// nowForOwner returns the time. It is the first thing that the owner asks for after
// a wait, so from here on the owner is busy.
func (c *Clock) nowForOwner() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.idle = false
	return c.now
}

// after sets the owner's one alarm.
func (c *Clock) after(d time.Duration) <-chan time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.owner = alarm{c.now.Add(d), make(chan time.Time, 1)}
	return c.owner.ring
}

// waits is told that the owner waits for its alarm or for one of busy workers.
func (c *Clock) waits(busy int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.busy, c.idle = busy, true
	c.jump()
}

// News counts what ended so far, polls aside. It doesn't change while a worker
// works.
func (c *Clock) News() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.news
}

// Wait lets a worker that is done wait until the time it takes is over, even
// when that is none; number is that of its start. A poll ends as soon as
// anything else has ended. Wait returns early when ctx is done.
func (c *Clock) Wait(ctx context.Context, number int, d time.Duration, poll bool) {
	c.mu.Lock()
	w := waiter{alarm{c.now.Add(d), make(chan time.Time, 1)}, number, poll, ctx.Done()}
	c.wait = append(c.wait, w)
	c.jump()
	c.mu.Unlock()
	select {
	case <-w.ring:
	case <-ctx.Done():
		c.forget(w)
	}
}

func (c *Clock) forget(w waiter) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.wait {
		if c.wait[i].ring == w.ring {
			c.wait = append(c.wait[:i], c.wait[i+1:]...)
			return
		}
	}
}

// jump moves the clock when the owner and every worker wait for it.
func (c *Clock) jump() {
	if !c.idle || len(c.wait) != c.busy || slices.ContainsFunc(c.wait, waiter.leaves) {
		return
	}
	c.idle = false
	first := -1
	for i, w := range c.wait {
		if w.at.Before(c.owner.at) && (first < 0 || w.before(c.wait[first])) {
			first = i
		}
	}
	if first < 0 {
		// The owner may have taken in a message when its alarm had rung already.
		if len(c.owner.ring) == 0 {
			c.ring(c.owner)
		}
		return
	}
	w := c.wait[first]
	c.wait = append(c.wait[:first], c.wait[first+1:]...)
	c.ring(w.alarm)
	if w.poll {
		return
	}
	c.news++
	for i := range c.wait {
		if c.wait[i].poll {
			c.wait[i].at = c.now
		}
	}
}

func (c *Clock) ring(a alarm) {
	if a.at.After(c.now) {
		c.now = a.at
	}
	a.ring <- c.now
}

// leaves reports whether a waiter is about to go, ahead of its time.
func (w waiter) leaves() bool {
	select {
	case <-w.done:
		return true
	default:
		return false
	}
}

func (w waiter) before(o waiter) bool {
	if w.at.Equal(o.at) {
		return w.number < o.number
	}
	return w.at.Before(o.at)
}
