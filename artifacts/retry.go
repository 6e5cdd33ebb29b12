package artifacts

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"
)

// How often and how long a request is tried, as the official client does it.
const (
	maxAttempts = 5
	firstWait   = 3 * time.Second
	waitFactor  = 1.5
	longestWait = 30 * time.Second
)

// answer is what one try of a request brought.
type answer struct {
	status int
	wait   time.Duration // asked for by Retry-After
	err    error
	final  bool // another try would bring the same
}

// retryable reports whether a status may be another one next time.
func retryable(status int) bool {
	switch status {
	case http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway,
		http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// patiently is the key of a context's value.
type patiently struct{}

// Patiently returns a context in which a service that fails is tried for as long
// as its calls may go on without progress, instead of a few times: for what is
// lost if it fails.
func Patiently(ctx context.Context) context.Context {
	return context.WithValue(ctx, patiently{}, true)
}

// retry calls try until it succeeds, fails for good, or has had its attempts or
// its time. There is no other layer of retries around a request.
func (c *client) retry(ctx context.Context, op string, try func(context.Context, *pace) answer) error {
	p := &pace{most: c.idle, left: c.idle}
	most := maxAttempts
	if ctx.Value(patiently{}) != nil {
		most = math.MaxInt
	}
	wait := firstWait
	for n := 1; ; n++ {
		a := p.run(ctx, try)
		if a.err == nil {
			return nil
		}
		failed := &ServiceError{Op: op, Status: a.status, Attempts: n, Err: withoutAddress(a.err)}
		pause := min(max(wait+time.Duration(rand.Int64N(int64(wait/2))), a.wait), longestWait)
		if ctx.Err() != nil {
			return &ServiceError{Op: op, Attempts: n, Err: context.Cause(ctx)}
		}
		if a.final || n >= most || p.spend(pause) {
			return failed
		}
		if err := c.sleep(ctx, pause); err != nil {
			failed.Err = fmt.Errorf("%w; %w", failed.Err, cmp.Or(context.Cause(ctx), err))
			return failed
		}
		wait = time.Duration(float64(wait) * waitFactor)
	}
}

// retryAfter reads the header of that name, in seconds.
func retryAfter(h http.Header) time.Duration {
	n, err := strconv.Atoi(h.Get("Retry-After"))
	if err != nil || n < 0 {
		return 0
	}
	return time.Duration(min(n, 3600)) * time.Second
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
