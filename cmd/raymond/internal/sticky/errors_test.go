package sticky

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/raymond-action/raymond-action/internal/forge"
)

// TestRateLimitsAreObeyed: nothing is asked before the service allows it, and the
// last text comes when it does.
func TestRateLimitsAreObeyed(t *testing.T) {
	for _, told := range []time.Duration{20 * time.Second, 0} {
		inBubble(t, func(s *scene) {
			p, wait := s.start(), told
			p.Show(body("begun"))
			s.wait(time.Minute)
			if told == 0 {
				wait = limitPause
			}
			limit, refused := time.Now().Add(wait), 0
			s.fate = func(string) fate {
				if !time.Now().Before(limit) {
					return fate{}
				}
				refused++
				return fate{err: &forge.Error{Kind: forge.Limited, Wait: told}}
			}
			p.Show(body("more"))
			s.wait(wait - 10*time.Second)
			s.wantNoError(s.finish(p, "ended"))
			s.wantOne("ended")
			if !time.Now().Equal(limit) || refused != 1 {
				t.Errorf("after a limit of %v: got the end %v after it and %d refusals, want none and 1", wait, time.Since(limit), refused)
			}
		})
	}
}

// TestARefusalIsFinal: after a refusal there are no more requests, and Finish says why.
func TestARefusalIsFinal(t *testing.T) {
	for _, at := range []string{"list", "create"} {
		inBubble(t, func(s *scene) {
			s.fate = func(what string) fate {
				if what == at {
					return fate{err: &forge.Error{Kind: forge.Denied, Op: "no"}}
				}
				return fate{}
			}
			p := s.start()
			for n := range 100 {
				p.Show(body(fmt.Sprint(n)))
				s.wait(time.Minute)
			}
			err := s.finish(p, "ended")
			var e *forge.Error
			var unfinished *Unfinished
			if !errors.As(err, &e) || errors.As(err, &unfinished) || s.count(at) != 1 {
				t.Errorf("at %s: got %v and %q, want the refusal once", at, err, s.asked)
			}
		})
	}
}

// TestALimitBeyondTheEndIsNotWaitedFor: Finish returns at once if a rate limit ends after
// its deadline.
func TestALimitBeyondTheEndIsNotWaitedFor(t *testing.T) {
	inBubble(t, func(s *scene) {
		s.fate = func(string) fate { return fate{err: &forge.Error{Kind: forge.Limited, Wait: time.Hour}} }
		began := time.Now()
		var unfinished *Unfinished
		if err := s.finish(s.start(), "ended"); !errors.As(err, &unfinished) || time.Since(began) > 0 {
			t.Errorf("Finish: got %v after %v, want it unfinished at once", err, time.Since(began))
		}
	})
}
