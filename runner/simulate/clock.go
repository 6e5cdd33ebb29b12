package simulate

import (
	"context"
	"sync"
	"time"

	"github.com/raymond-action/raymond-action/runner"
)

// Clock is a clock that stands still while anything works, and jumps to the next
// point in time at which something is to happen when everything waits.
type Clock struct {
	mu    sync.Mutex // guards what follows
	now   time.Time
	owner alarm   // what the owner of the run waits for
	busy  int     // workers the owner waits for
	idle  bool    // the owner is about to wait
	sleep []alarm // scripted agents that wait
}

// alarm is a point in time and who waits for it.
type alarm struct {
	at   time.Time
	ring chan time.Time // buffered; nil for none
}

// NewClock returns a Clock that shows the given time.
func NewClock(now time.Time) *Clock { return &Clock{now: now} }

// Runner returns the clock in the form that a runner takes.
func (c *Clock) Runner() runner.Clock {
	return runner.Clock{Now: c.Now, After: c.after, Idle: c.waits}
}

// Now returns the simulated time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// after sets the owner's one alarm.
func (c *Clock) after(d time.Duration) <-chan time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.idle = false
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

// Sleep makes a worker wait. It returns early when ctx is done.
func (c *Clock) Sleep(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	c.mu.Lock()
	a := alarm{c.now.Add(d), make(chan time.Time, 1)}
	c.sleep = append(c.sleep, a)
	c.jump()
	c.mu.Unlock()
	select {
	case <-a.ring:
	case <-ctx.Done():
		c.forget(a)
	}
}

func (c *Clock) forget(a alarm) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, s := range c.sleep {
		if s.ring == a.ring {
			c.sleep = append(c.sleep[:i], c.sleep[i+1:]...)
			return
		}
	}
}

// jump moves the clock when the owner and every worker wait for it.
func (c *Clock) jump() {
	if !c.idle || len(c.sleep) != c.busy {
		return
	}
	next, at := c.owner, -1
	for i, s := range c.sleep {
		if s.at.Before(next.at) {
			next, at = s, i
		}
	}
	if next.at.After(c.now) {
		c.now = next.at
	}
	next.ring <- c.now
	if at >= 0 {
		c.sleep = append(c.sleep[:at], c.sleep[at+1:]...)
		return
	}
	c.idle = false
}
