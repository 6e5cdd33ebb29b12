package ask

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/raymond-action/raymond-action/internal/forge"
)

// TestRateLimitsAreObeyed checks that no request is made before a rate limit ends, and that the last text
// is written immediately afterwards.
func TestRateLimitsAreObeyed(t *testing.T) {
	for _, retryAfter := range []time.Duration{20 * time.Second, 0} {
		inBubble(t, func(s *scene) {
			p, wait := s.start(), retryAfter
			p.Update(body("begun"))
			s.wait(time.Minute)
			if retryAfter == 0 {
				wait = limitPause
			}
			limit, refused := time.Now().Add(wait), 0
			s.fate = func(string) fate {
				if !time.Now().Before(limit) {
					return fate{}
				}
				refused++
				return fate{err: &forge.Error{Kind: forge.Limited, Wait: retryAfter}}
			}
			p.Update(body("more"))
			s.wait(wait - 10*time.Second)
			s.wantNoError(s.finish(p, "ended"))
			s.wantOne("ended")
			if !time.Now().Equal(limit) || refused != 1 {
				t.Errorf("after a limit of %v: got the end %v after it and %d refusals, want none and 1", wait, time.Since(limit), refused)
			}
		})
	}
}

// TestRefusalIsFinal checks that requests stop after the forge has rejected one permanently,
// and that Finish returns that error.
func TestRefusalIsFinal(t *testing.T) {
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
				p.Update(body(fmt.Sprint(n)))
				s.wait(time.Minute)
			}
			err := s.finish(p, "ended")
			var e *forge.Error
			if !errors.As(err, &e) || errors.Is(err, ErrUnfinished) || s.count(at) != 1 {
				t.Errorf("at %s: got %v and %q, want the refusal once", at, err, s.requests)
			}
		})
	}
}

// TestUnansweredCreationIsNotRepeated checks that a comment is not created again if the response to its
// creation got lost.
func TestUnansweredCreationIsNotRepeated(t *testing.T) {
	inBubble(t, func(s *scene) {
		s.fate = func(what string) fate {
			if what == "create" {
				return fate{err: &forge.Error{Kind: forge.Unanswered}, done: true}
			}
			return fate{}
		}
		s.wantNoError(s.finish(s.start(), "ended"))
		if s.wantOne("ended"); s.count("create") != 1 {
			t.Errorf("got %d creations, want one", s.count("create"))
		}
	})
}

// TestLateCreationLeavesNoDuplicate checks that only one comment is left if the creation of a comment got
// no response, and that comment appears after a second one was created.
func TestLateCreationLeavesNoDuplicate(t *testing.T) {
	inBubble(t, func(s *scene) {
		s.fate = func(what string) fate {
			if what == "create" && s.requests[len(s.requests)-1] == what && len(s.requests) < 3 {
				return fate{err: &forge.Error{Kind: forge.Unanswered}, done: true, later: every + time.Second}
			}
			return fate{}
		}
		p := s.start()
		p.Update(body("begun"))
		s.wait(time.Minute)
		assert.Equal(t, len(s.of(ours)), 2, "comments before the end: want the late one and another")
		s.wantNoError(s.finish(p, "ended"))
		s.wantOne("ended")
	})
}

// TestStaleListHidesNoDuplicate checks that a comment that the service doesn't list yet is recognized as
// a duplicate.
func TestStaleListHidesNoDuplicate(t *testing.T) {
	s := newService()
	s.add(ours, marker)
	c := &StickyComment{api: s, marker: marker, id: 12, shown: "later", self: account{login: ours}}
	err := c.find(t.Context())
	if c.id != 11 || c.shown != marker || !slices.Equal(s.requests, []string{"list", "delete"}) {
		t.Errorf("got %d, %q, %v after %q, want 11, its marker, and that 12 is deleted", c.id, c.shown, err, s.requests)
	}
}
