package store

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/raymond-action/raymond-action/artifacts/slots"
	"github.com/raymond-action/raymond-action/internal/forge"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

// When a service fails, the claim is tried again. The pause between two tries begins with
// firstRetry and doubles up to lastRetry.
const (
	firstRetry = 5 * time.Second
	lastRetry  = time.Minute
)

// claim claims a key for a run, so that no other job drives a run with the same key at the same
// time. It does so in the background: scripts don't wait for it, but prompts, which cost money,
// wait for a limited time. check and release may be used by one goroutine at a time, the other
// methods by any number.
type claim struct {
	warn     func(string)
	lost     func()
	lostKey  chan string // receives, at most once, the reason to end the run; never closed
	end      context.CancelFunc
	ended    chan struct{} // closed when the attempts to claim the key have ended
	decided  chan struct{} // closed when either this run or another job has the key
	begun    time.Time
	claimer  *slots.Claimer                 // used by the claiming goroutine until that has ended
	conflict atomic.Pointer[slots.Conflict] // the conflict with another job; nil for none
}

// startClaim starts to claim a key and returns at once. If the service fails, it tries again until
// release, and calls warn once. It calls lost once if another job has the key. Both are called from
// another goroutine. The claim owns the claimer from now on.
func startClaim(claimer *slots.Claimer, warn func(string), lost func()) *claim {
	ctx, end := context.WithCancel(context.Background())
	c := &claim{
		warn: warn, lost: lost, lostKey: make(chan string, 1), end: end, ended: make(chan struct{}), decided: make(chan struct{}),
		begun: time.Now(), claimer: claimer,
	}
	go func() {
		defer close(c.ended)
		c.take(ctx)
	}()
	return c
}

// take claims the key. It tries again for as long as the service fails.
func (c *claim) take(ctx context.Context) {
	for pause, warned := firstRetry, false; ; pause = min(2*pause, lastRetry) {
		switch err := c.claimer.Take(ctx); {
		case err == nil, c.isLost(err):
			close(c.decided)
			return
		case ctx.Err() != nil:
			return
		case !warned:
			warned = true
			c.warn(fmt.Sprintf("could not claim the run's key: %v; the run continues, but until the claim succeeds another job may drive a run with the same key", err))
		}
		if forge.Sleep(ctx, pause) != nil {
			return
		}
	}
}

// isLost reports whether an error means that another job has the key. The first such error requests
// the end of the run.
func (c *claim) isLost(err error) bool {
	conflict, is := errors.AsType[*slots.Conflict](err)
	if is && c.conflict.CompareAndSwap(nil, conflict) {
		c.lost()
		c.lostKey <- fmt.Sprintf("a conflict about the key %q", c.claimer.Mine.Key) // never blocks: the channel has room for the only value
	}
	return is
}

// wait returns when it is known which job has the key, d after the start of the claim, or when the
// context ends. It returns the conflict with another job that has the key.
func (c *claim) wait(ctx context.Context, d time.Duration) error {
	select {
	case <-c.decided:
	case <-time.After(time.Until(c.begun.Add(d))):
	case <-ctx.Done():
	}
	if conflict := c.conflict.Load(); conflict != nil {
		return conflict
	}
	return nil
}

// check checks with the service that this run still has the key. It must be called right before
// something is stored. Its error is a *slots.Conflict, which also requests the end of the run (see
// lostKey). A failing service is not an error here, and neither is a claim that is not stored yet: a
// run that ends while the service hangs has no time to wait.
func (c *claim) check(ctx context.Context) error {
	if conflict := c.conflict.Load(); conflict != nil {
		return conflict
	}
	select {
	case <-c.decided:
	default:
		return nil
	}
	if err := c.claimer.Check(ctx); c.isLost(err) {
		return err
	}
	return nil // if the service fails, storing will fail as well
}

// release stops the attempts to claim the key and removes this run's claim, but no other claim. An
// error comes from the service: the claim then stays until its job is over.
func (c *claim) release(ctx context.Context) error {
	c.end()
	<-c.ended
	return c.claimer.Release(ctx)
}

// maxWait is how long prompts wait for the claim of their key, from its start.
const maxWait = 10 * time.Second

// Guard returns a backend for prompts that waits until it is known that the run has its key. If
// this is not known within maxWait, prompts start anyway. No prompt starts once another job has the
// key.
func Guard(l Lease, b runner.Backend) runner.Backend { return &claimedBackend{b, l} }

// claimedBackend is the backend that Guard returns.
type claimedBackend struct {
	runner.Backend
	lease Lease
}

// Run implements runner.Backend.
func (b *claimedBackend) Run(ctx context.Context, o runner.Order, tell func(runner.Progress)) (runner.Answer, error) {
	if b.lease.Wait(ctx, maxWait) != nil {
		<-ctx.Done() // the run is about to be ended
		return runner.Answer{Process: state.Process{ExitCode: -1}, Cost: state.Cost{Silent: true}}, &runner.Failure{Class: runner.Stopped, Message: "not started: another job drives a run with this key"}
	}
	return b.Backend.Run(ctx, o, tell)
}
