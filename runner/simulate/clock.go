package simulate

import (
	"cmp"
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
}

// alarm is a point in time and who waits for it.
type alarm struct {
	at   time.Time
	ring chan time.Time // buffered
}

// waiter is a worker that waits.
type waiter struct {
	alarm
	number int          // of the start: the first that was started ends first
	leaves func() error // not nil when it waits no longer
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

// Wait lets a worker that is done wait until the time it takes is over, even
// when that is none; number is that of its start. Wait returns early when ctx is done.
func (c *Clock) Wait(ctx context.Context, number int, d time.Duration) {
	c.mu.Lock()
	w := waiter{alarm{c.now.Add(d), make(chan time.Time, 1)}, number, ctx.Err}
	c.wait = append(c.wait, w)
	slices.SortFunc(c.wait, func(a, b waiter) int { return cmp.Or(a.at.Compare(b.at), a.number-b.number) })
	c.jump()
	c.mu.Unlock()
	select {
	case <-w.ring:
	case <-ctx.Done():
		c.mu.Lock()
		defer c.mu.Unlock()
		c.wait = slices.DeleteFunc(c.wait, func(o waiter) bool { return o.ring == w.ring })
	}
}

// jump moves the clock when the owner and every worker wait for it, and none of them is about to
// go ahead of its time.
func (c *Clock) jump() {
	if !c.idle || len(c.wait) != c.busy || slices.ContainsFunc(c.wait, func(w waiter) bool { return w.leaves() != nil }) {
		return
	}
	c.idle = false
	if len(c.wait) > 0 && c.wait[0].at.Before(c.owner.at) {
		c.ring(c.wait[0].alarm)
		c.wait = c.wait[1:]
	} else if len(c.owner.ring) == 0 { // the owner may have taken in a message when its alarm had rung already
		c.ring(c.owner)
	}
}

func (c *Clock) ring(a alarm) {
	if a.at.After(c.now) {
		c.now = a.at
	}
	a.ring <- c.now
}
