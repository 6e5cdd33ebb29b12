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

// TestRateLimitsAreObeyed: nothing is asked before the service allows it, and the
// last text comes when it does.
func TestRateLimitsAreObeyed(t *testing.T) {
	for _, told := range []time.Duration{20 * time.Second, 0} {
		inBubble(t, func(s *scene) {
			p, wait := s.start(), told
			p.Update(body("begun"))
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
				p.Update(body(fmt.Sprint(n)))
				s.wait(time.Minute)
			}
			err := s.finish(p, "ended")
			var e *forge.Error
			if !errors.As(err, &e) || errors.Is(err, ErrUnfinished) || s.count(at) != 1 {
				t.Errorf("at %s: got %v and %q, want the refusal once", at, err, s.asked)
			}
		})
	}
}

// TestACreationWithoutAnAnswerIsNotRepeated, where it was carried out all the same.
func TestACreationWithoutAnAnswerIsNotRepeated(t *testing.T) {
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

// TestALateCreationLeavesNoTwin: a comment whose creation was not answered, and that comes when
// there is another one, is gone in the end.
func TestALateCreationLeavesNoTwin(t *testing.T) {
	inBubble(t, func(s *scene) {
		s.fate = func(what string) fate {
			if what == "create" && s.asked[len(s.asked)-1] == what && len(s.asked) < 3 {
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

// TestAListThatLagsHidesNoTwin: a comment of ours that the service doesn't list yet is known.
func TestAListThatLagsHidesNoTwin(t *testing.T) {
	s := newService()
	s.add(ours, marker)
	c := &StickyComment{in: s, marker: marker, id: 12, shown: "later", self: account{login: ours}}
	err := c.look(t.Context())
	if c.id != 11 || c.shown != marker || !slices.Equal(s.asked, []string{"list", "delete"}) {
		t.Errorf("got %d, %q, %v after %q, want 11, its marker, and that 12 is deleted", c.id, c.shown, err, s.asked)
	}
}
