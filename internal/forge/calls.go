package forge

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

// Policy limits the number of attempts to make a request, and their total time.
type Policy struct {
	attempts int           // maximum number; 0 means that only patience and within limit it
	first    time.Duration // pause before the second attempt
	factor   float64       // factor by which each further pause is longer
	within   time.Duration // limit for all attempts together; if 0, only the context limits them
}

var (
	// Steady is for requests that a run depends on. It allows five attempts, as the official client of the
	// results service does.
	Steady = Policy{attempts: 5, first: 3 * time.Second, factor: 1.5}
	// Quick is for requests that the user waits for. It allows three attempts within 10 s.
	Quick = Policy{attempts: 3, first: 500 * time.Millisecond, factor: 4, within: 10 * time.Second}
	// Once is for callers that decide themselves when to try again. It allows one attempt of at most 10 s.
	Once = Policy{attempts: 1, within: 10 * time.Second}
)

const (
	longestPause = 30 * time.Second
	patience     = 3 * time.Minute
)

// patienceKey is the context key that WithPatience sets.
type patienceKey struct{}

// WithPatience returns a context in which Steady requests are retried for three minutes, instead of at most
// four times. Use it where a failed request loses data.
func WithPatience(ctx context.Context) context.Context {
	return context.WithValue(ctx, patienceKey{}, true)
}

// Retrier makes requests, and repeats them if the service fails. The zero value is ready for use.
type Retrier struct {
	// Sleep waits between attempts. If nil, the function Sleep is used.
	Sleep func(context.Context, time.Duration) error
}

// Do calls try until try succeeds, fails permanently, or the policy allows no further attempt. An attempt
// is canceled if it transfers no data for a minute. All pauses and all idle times together are limited to
// three minutes. If the service sends Retry-After, Do waits that long, but at most 30 s. The error is an
// *Error that contains op. All requests of this program are retried by this loop.
func (c Retrier) Do(ctx context.Context, p Policy, op string, try func(context.Context, *Progress) *Error) error {
	if p.within > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, p.within, fmt.Errorf("no answer within %v", p.within))
		defer cancel()
	}
	if p == Steady && ctx.Value(patienceKey{}) != nil {
		p.attempts = 0
	}
	sleep := c.Sleep
	if sleep == nil {
		sleep = Sleep
	}
	pause, lost := p.first, time.Duration(0)
	for n := 1; ; n++ {
		idle, e := attempt(ctx, min(maxStall, patience-lost), try)
		if e == nil {
			return nil
		}
		e.Op, e.Attempts = op, n
		if ctx.Err() != nil {
			return &Error{Op: op, Attempts: n, Err: context.Cause(ctx)}
		}
		// The pause becomes longer by a random time of up to one half, so that clients don't all retry at
		// the same time.
		wait := min(max(pause+rand.N(max(1, pause/2)), e.Wait), longestPause)
		if lost += idle + wait; e.Final || e.Kind != Unanswered && e.Kind != Limited || n == p.attempts || lost >= patience {
			return e
		}
		if err := sleep(ctx, wait); err != nil {
			e.Err = fmt.Errorf("%w; %w", e.Err, cmp.Or(context.Cause(ctx), err))
			return e
		}
		pause = time.Duration(float64(pause) * p.factor)
	}
}

// Sleep waits for d. If ctx ends before that, it returns the error of ctx.
func Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
