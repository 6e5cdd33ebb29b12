package forge

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

// Policy says how often a request is made, and within which time.
type Policy struct {
	attempts int           // 0: until the pauses add up to patience
	first    time.Duration // the pause before the second one
	factor   float64       // by which each further pause is longer
	within   time.Duration // for all of them; 0: as long as the context lives
}

var (
	// Steady is for what a run depends on: five attempts, as the official client of
	// the results service makes them.
	Steady = Policy{attempts: 5, first: 3 * time.Second, factor: 1.5}
	// Quick is for a question that somebody waits for: three attempts in 10 s.
	Quick = Policy{attempts: 3, first: 500 * time.Millisecond, factor: 4, within: 10 * time.Second}
	// Once is for callers that decide themselves when to ask again: one attempt of
	// 10 s at most.
	Once = Policy{attempts: 1, within: 10 * time.Second}
)

const (
	longestPause = 30 * time.Second
	patience     = 3 * time.Minute
)

// patiently is the key of a context's value.
type patiently struct{}

// WithPatience returns a context in which Steady calls are made until the pauses between
// them add up to three minutes, instead of five times: for what is lost if it fails.
func WithPatience(ctx context.Context) context.Context {
	return context.WithValue(ctx, patiently{}, true)
}

// Retrier makes requests, each again while the service fails. The zero value is ready
// for use.
type Retrier struct {
	// Sleep waits between attempts; nil for Sleep.
	Sleep func(context.Context, time.Duration) error
}

// Do calls try until it returns nil, fails for good, or has had its attempts or its
// time. An attempt ends when nothing moves for a minute; pauses and times in which nothing
// moves add up to three minutes at most. The service's Retry-After is obeyed up to 30 s. The error is an *Error that
// names op. There is no other loop around a request.
func (c Retrier) Do(ctx context.Context, p Policy, op string, try func(context.Context, *Progress) *Error) error {
	if p.within > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, p.within, fmt.Errorf("no answer came within %v", p.within))
		defer cancel()
	}
	if p == Steady && ctx.Value(patiently{}) != nil {
		p.attempts = 0
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
		// Up to half of a pause more keeps many clients from coming back at once.
		wait := min(max(pause+rand.N(max(1, pause/2)), e.Wait), longestPause)
		if lost += idle + wait; e.Final || e.Kind != Unanswered && e.Kind != Limited || n == p.attempts || lost >= patience {
			return e
		}
		if err := c.sleep(ctx, wait); err != nil {
			e.Err = fmt.Errorf("%w; %w", e.Err, cmp.Or(context.Cause(ctx), err))
			return e
		}
		pause = time.Duration(float64(pause) * p.factor)
	}
}

func (c Retrier) sleep(ctx context.Context, d time.Duration) error {
	if c.Sleep == nil {
		return Sleep(ctx, d)
	}
	return c.Sleep(ctx, d)
}

// Sleep waits, or returns the error of ctx when that is done first.
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
