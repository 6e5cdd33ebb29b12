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

// The pause between two tries to claim a key is firstRetry where the service fails
// first, and doubles up to lastRetry.
const (
	firstRetry = 5 * time.Second
	lastRetry  = time.Minute
)

// Claim is the hold of a run on its key, so that no other job drives a run with the same key
// meanwhile. A key is claimed beside the run: scripts don't wait for it, and prompts, which
// cost money, do for a time. Check and Release are for one goroutine at a time, the other
// methods for any.
type Claim struct {
	warn     func(string)
	lost     func()
	asked    chan string // brings the reason to end the run
	end      context.CancelFunc
	ended    chan struct{} // closed when nobody tries to claim the key any more
	decided  chan struct{} // closed when the key is this run's, or somebody else's
	begun    time.Time
	claimer  *slots.Claimer                 // of the goroutine that claims the key, until that has ended
	conflict atomic.Pointer[slots.Conflict] // with somebody else; nil for none
}

// StartClaim begins to claim a key and returns at once. The key is claimed again and again
// where the service fails, until Release; warn is told of that once, from another goroutine,
// as lost is called once somebody else has the key. From then on only the Claim uses the claimer.
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

// take claims the key, again and again where the service fails.
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
			c.warn(fmt.Sprintf("the run's key could not be claimed, and the run continues: %v; until it is, another job may drive a run with the same key", err))
		}
		if forge.Sleep(ctx, pause) != nil {
			return
		}
	}
}

// isLost reports whether an error says that somebody else has the key. The first one that does
// asks for the end of the run.
func (c *Claim) isLost(err error) bool {
	conflict, is := errors.AsType[*slots.Conflict](err)
	if is && c.conflict.CompareAndSwap(nil, conflict) {
		c.lost()
		c.asked <- fmt.Sprintf("a conflict about the key %q", c.claimer.Mine.Key) // has room for one, and this is the only one
	}
	return is
}

// Asked brings the reason to end the run, once, when somebody else has the key. The
// channel is never closed.
func (c *Claim) Asked() <-chan string { return c.asked }

// Wait returns when it is decided who has the key, after d, or when the context ends.
func (c *Claim) Wait(ctx context.Context, d time.Duration) {
	select {
	case <-c.decided:
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// Conflict is who has the key instead, as far as it is known; nil for nobody, also of a nil Claim.
func (c *Claim) Conflict() *slots.Conflict {
	if c == nil {
		return nil
	}
	return c.conflict.Load()
}

// Check asks the service whether the key is still this run's, and is for right before
// something is stored. Its error is a *slots.Conflict, which Asked tells of
// too. A service that fails is no error here, and neither is a claim that is not
// stored yet: a run that ends while the service hangs has no time to wait for that.
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
	return nil // a service that fails does so when something is stored, too
}

// Release stops claiming the key and removes this run's claim, and nobody else's. An
// error is one of the service: the claim then stays until its job is over.
func (c *Claim) Release(ctx context.Context) error {
	c.end()
	<-c.ended
	return c.claimer.Release(ctx)
}
