package forge

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestPolicyLimitsAttemptsAndTime checks for each policy how many attempts are made and how long they take,
// depending on how the attempts end.
func TestPolicyLimitsAttemptsAndTime(t *testing.T) {
	fails := func(e Error) func(context.Context) *Error { return func(context.Context) *Error { return &e } }
	hangs := func(ctx context.Context) *Error {
		<-ctx.Done()
		return NoAnswer(0, ctx.Err())
	}
	const second, minute = time.Second, time.Minute
	for name, c := range map[string]struct {
		policy    Policy
		patiently bool
		times     int // number of attempts that fail
		try       func(context.Context) *Error
		attempts  int // expected number of attempts; if 0, more than five
		from, to  time.Duration
	}{
		// The pauses are 3, 4.5, 6.75 and 10.125 s. Each is longer by a random time of up to one half.
		"service recovers":     {Steady, false, 4, fails(Error{}), 5, 24 * second, 37 * second},
		"service stays down":   {Steady, false, 99, fails(Error{}), 5, 24 * second, 37 * second},
		"Retry-After":          {Steady, false, 1, fails(Error{Kind: Limited, Wait: 17 * second}), 2, 17 * second, 17 * second},
		"Retry-After of a day": {Steady, false, 1, fails(Error{Kind: Limited, Wait: 24 * time.Hour}), 2, longestPause, longestPause},
		"refused":              {Steady, false, 99, fails(Error{Kind: Refused}), 1, 0, 0},
		"final error":          {Steady, false, 99, fails(Error{Final: true}), 1, 0, 0},
		"patient, recovers":    {Steady, true, 8, fails(Error{}), 9, 2 * minute, 3 * minute},
		"patient, stays down":  {Steady, true, 99, fails(Error{}), 0, 2 * minute, 3 * minute},
		"hangs":                {Steady, false, 99, hangs, 3, 3 * minute, 3 * minute},
		"hangs, quick":         {Quick, false, 99, hangs, 1, 10 * second, 10 * second},
		"hangs once":           {Steady, false, 1, hangs, 2, minute, 65 * second},
		"fails, quick":         {Quick, false, 99, fails(Error{}), 3, 2 * second, 4 * second},
		"fails, once":          {Once, false, 99, fails(Error{}), 1, 0, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, began, requests := t.Context(), time.Now(), 0
			if c.patiently {
				ctx = WithPatience(ctx)
			}
			err := Retrier{}.Do(ctx, c.policy, "ask", func(ctx context.Context, _ *Progress) *Error {
				if requests++; requests > c.times {
					return nil
				}
				return c.try(ctx)
			})
			failure, took := (*Error)(nil), time.Since(began)
			if errors.As(err, &failure) != (requests <= c.times) || failure != nil && (failure.Op != "ask" || failure.Attempts != requests) {
				t.Errorf("%s: got %v after %d attempts", name, err, requests)
			}
			if requests != c.attempts && (c.attempts > 0 || requests <= 5) || took < c.from || took > c.to {
				t.Errorf("%s: got %d attempts in %v, want %d in %v to %v", name, requests, took, c.attempts, c.from, c.to)
			}
		})
	}
}
