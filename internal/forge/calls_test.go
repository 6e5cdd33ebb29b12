package forge

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestHowOftenARequestIsMade, and how long it takes, by its policy and by what comes of it.
func TestHowOftenARequestIsMade(t *testing.T) {
	fails := func(e Error) func(context.Context) *Error { return func(context.Context) *Error { return &e } }
	hangs := func(ctx context.Context) *Error {
		<-ctx.Done()
		return NoAnswer(0, ctx.Err())
	}
	const second, minute = time.Second, time.Minute
	for name, c := range map[string]struct {
		policy    Policy
		patiently bool
		times     int // that it fails
		try       func(context.Context) *Error
		attempts  int // 0: more than five
		from, to  time.Duration
	}{
		"it comes back":                 {Steady, false, 4, fails(Error{}), 5, 24 * second, 37 * second}, // 3 + 4.5 + 6.75 + 10.125, and half of it
		"it does not":                   {Steady, false, 99, fails(Error{}), 5, 24 * second, 37 * second},
		"it says how long to wait":      {Steady, false, 1, fails(Error{Kind: Limited, Wait: 17 * second}), 2, 17 * second, 17 * second},
		"it says a day":                 {Steady, false, 1, fails(Error{Kind: Limited, Wait: 24 * time.Hour}), 2, longestPause, longestPause},
		"it refuses":                    {Steady, false, 99, fails(Error{Kind: Refused}), 1, 0, 0},
		"it will not change":            {Steady, false, 99, fails(Error{Final: true}), 1, 0, 0},
		"it stays away for some time":   {Steady, true, 8, fails(Error{}), 9, 2 * minute, 3 * minute},
		"it stays away":                 {Steady, true, 99, fails(Error{}), 0, 2 * minute, 3 * minute},
		"it hangs":                      {Steady, false, 99, hangs, 3, 3 * minute, 3 * minute},
		"it hangs, and somebody waits":  {Quick, false, 99, hangs, 1, 10 * second, 10 * second},
		"it hangs once":                 {Steady, false, 1, hangs, 2, minute, 65 * second},
		"it fails, and somebody waits":  {Quick, false, 99, fails(Error{}), 3, 2 * second, 4 * second},
		"it fails, and is asked for it": {Once, false, 99, fails(Error{}), 1, 0, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, began, asked := t.Context(), time.Now(), 0
			if c.patiently {
				ctx = WithPatience(ctx)
			}
			err := Retrier{}.Do(ctx, c.policy, "ask", func(ctx context.Context, _ *Progress) *Error {
				if asked++; asked > c.times {
					return nil
				}
				return c.try(ctx)
			})
			told, took := (*Error)(nil), time.Since(began)
			if errors.As(err, &told) != (asked <= c.times) || told != nil && (told.Op != "ask" || told.Attempts != asked) {
				t.Errorf("%s: got %v after %d attempts", name, err, asked)
			}
			if asked != c.attempts && (c.attempts > 0 || asked <= 5) || took < c.from || took > c.to {
				t.Errorf("%s: got %d attempts in %v, want %d in %v to %v", name, asked, took, c.attempts, c.from, c.to)
			}
		})
	}
}
