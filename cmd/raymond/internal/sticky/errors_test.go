package sticky

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
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

// TestTheEndIsTriedAgain: the last text is tried again while the service fails, however
// long it has failed before.
func TestTheEndIsTriedAgain(t *testing.T) {
	for n := range 20 {
		before := time.Duration(n) * 187 * time.Second
		inBubble(t, func(s *scene) {
			well := time.Now().Add(before + 24*time.Second)
			s.fate = func(string) fate {
				if time.Now().Before(well) {
					return fate{err: &forge.Error{Op: "502"}, takes: 100 * time.Millisecond}
				}
				return fate{}
			}
			p := s.start()
			p.Show(body("begun"))
			s.wait(before)
			if n := len(s.asked); n > 80 {
				t.Errorf("in an hour of trouble: got %d requests, want a few", n)
			}
			s.wantNoError(s.finish(p, "ended"))
			s.wantOne("ended")
		})
	}
}

// TestARefusalIsFinal: after a refusal there are no more requests, and Finish says why.
func TestARefusalIsFinal(t *testing.T) {
	for _, kind := range []forge.Kind{forge.Denied, forge.Missing, forge.Refused} {
		for _, at := range []string{"list", "create"} {
			inBubble(t, func(s *scene) {
				s.fate = func(what string) fate {
					if what == at {
						return fate{err: &forge.Error{Kind: kind, Op: "no"}}
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
				if !errors.As(err, &e) || e.Kind != kind || errors.As(err, &unfinished) || s.count(at) != 1 {
					t.Errorf("%v at %s: got %v and %q, want the refusal once", kind, at, err, s.asked)
				}
			})
		}
	}
}

// TestNothingToSayAsksNothing: without a text there is no request.
func TestNothingToSayAsksNothing(t *testing.T) {
	inBubble(t, func(s *scene) {
		p := s.start()
		s.wait(time.Hour)
		s.wantNoError(s.finish(p, ""))
		s.wantAsked("")
	})
}

// TestAShortEndLeavesAtOnce: Finish returns when its time is up, even during a request.
func TestAShortEndLeavesAtOnce(t *testing.T) {
	inBubble(t, func(s *scene) {
		s.fate = func(string) fate { return fate{takes: time.Hour} }
		p := s.start()
		p.Show(body("begun"))
		synctest.Wait()
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		began := time.Now()
		var unfinished *Unfinished
		if err := p.Finish(ctx, body("ended")); !errors.As(err, &unfinished) || time.Since(began) > 0 {
			t.Errorf("Finish: got %v after %v, want it unfinished at once", err, time.Since(began))
		}
	})
}

// TestPausesGrowAndBeginAnew: pauses after errors grow, and are short again after a
// success.
func TestPausesGrowAndBeginAnew(t *testing.T) {
	s, now := &tracker{want: news{body: "x"}}, time.Now()
	var got []time.Duration
	for n := range 9 {
		if n == 8 {
			s.succeeded()
		}
		s.noteError(search, &forge.Error{Op: "502"}, now)
		what, at := s.next(now)
		if what != pause {
			t.Fatalf("after %d errors: got action %d, want a pause", n, what)
		}
		got = append(got, at.Sub(now)/time.Second)
	}
	if want := []time.Duration{1, 2, 4, 8, 16, 32, 60, 60, 1}; !slices.Equal(got, want) {
		t.Errorf("pauses, in seconds: got %d, want %d", got, want)
	}
}
