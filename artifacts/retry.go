package artifacts

import (
	"context"
	"errors"
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

// retry calls try until it succeeds, fails for good, or has had its attempts.
func (c *client) retry(ctx context.Context, op string, try func(context.Context) answer) error {
	wait := firstWait
	for n := 1; ; n++ {
		a := try(ctx)
		if a.err == nil {
			return nil
		}
		var told *ServiceError
		if errors.As(a.err, &told) {
			return told // of a request that this one is made of, and that was tried on its own
		}
		if a.final || n == maxAttempts || ctx.Err() != nil {
			return &ServiceError{Op: op, Status: a.status, Attempts: n, Err: withoutAddress(a.err)}
		}
		pause := wait + time.Duration(rand.Int64N(int64(wait/2)))
		if err := c.sleep(ctx, min(max(pause, a.wait), longestWait)); err != nil {
			return &ServiceError{Op: op, Status: a.status, Attempts: n, Err: errors.Join(withoutAddress(a.err), err)}
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
