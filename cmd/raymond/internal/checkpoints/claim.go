package checkpoints

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/raymond-action/raymond-action/artifacts/slots"
	"github.com/raymond-action/raymond-action/internal/forge"
)

// maxWait is how long prompts wait for a claim, from its start.
const maxWait = 10 * time.Second

// When a service fails, the claim is tried again. The pause between two tries begins with
// firstRetry and doubles up to lastRetry.
const (
	firstRetry = 5 * time.Second
	lastRetry  = time.Minute
)

// Claim claims a key for a run, so that no other job drives a run with the same key at the same
// time. It does so in the background: scripts don't wait for it, but prompts, which cost money,
// wait for a limited time. Check and Release may be used by one goroutine at a time, the other
// methods by any number.
type Claim struct {
	warn     func(string)
	lost     func()
	asked    chan string // receives the reason to end the run
	end      context.CancelFunc
	ended    chan struct{} // closed when the attempts to claim the key have ended
	decided  chan struct{} // closed when either this run or another job has the key
	begun    time.Time
	claimer  *slots.Claimer                 // used by the claiming goroutine until that has ended
	conflict atomic.Pointer[slots.Conflict] // the conflict with another job; nil for none
}

// StartClaim starts to claim a key and returns at once. If the service fails, it tries again until
// Release, and calls warn once. It calls lost once if another job has the key. Both are called from
// another goroutine. The Claim owns the claimer from now on.
func StartClaim(claimer *slots.Claimer, warn func(string), lost func()) *Claim {
	ctx, end := context.WithCancel(context.Background())
	c := &Claim{
		warn: warn, lost: lost, asked: make(chan string, 1), end: end, ended: make(chan struct{}), decided: make(chan struct{}),
		begun: time.Now(), claimer: claimer,
	}
	go func() {
		defer close(c.ended)
		c.take(ctx)
	}()
	return c
}

// take claims the key. It tries again for as long as the service fails.
func (c *Claim) take(ctx context.Context) {
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
func (c *Claim) isLost(err error) bool {
	conflict, is := errors.AsType[*slots.Conflict](err)
	if is && c.conflict.CompareAndSwap(nil, conflict) {
		c.lost()
		c.asked <- fmt.Sprintf("a conflict about the key %q", c.claimer.Mine.Key) // never blocks: the channel has room for the only value
	}
	return is
}

// Asked returns a channel that receives the reason to end the run, once, if another job has the
// key. The channel is never closed.
func (c *Claim) Asked() <-chan string { return c.asked }

// Wait returns when it is known which job has the key, after d, or when the context ends.
func (c *Claim) Wait(ctx context.Context, d time.Duration) {
	select {
	case <-c.decided:
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// Conflict returns the conflict with the job that has the key, or nil if no conflict is known. It
// may be called on a nil Claim.
func (c *Claim) Conflict() *slots.Conflict {
	if c == nil {
		return nil
	}
	return c.conflict.Load()
}

// Check checks with the service that this run still has the key. It must be called right before
// something is stored. Its error is a *slots.Conflict, which also requests the end of the run (see
// Asked). A failing service is not an error here, and neither is a claim that is not stored yet: a
// run that ends while the service hangs has no time to wait.
func (c *Claim) Check(ctx context.Context) error {
	if conflict := c.Conflict(); conflict != nil {
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

// Release stops the attempts to claim the key and removes this run's claim, but no other claim. An
// error comes from the service: the claim then stays until its job is over.
func (c *Claim) Release(ctx context.Context) error {
	c.end()
	<-c.ended
	return c.claimer.Release(ctx)
}
