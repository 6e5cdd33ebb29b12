package ask

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
)

var marker = StickyMarker("agent.yml", "agent-issue-7")

// body returns the body of a StickyComment with the test's marker.
func body(text string) string { return StickyBody(marker, text, "") }

// scene is a test with a simulated comment service and a fake clock.
type scene struct {
	*testing.T
	*service
}

// inBubble runs a test with a fake clock.
func inBubble(t *testing.T, test func(*scene)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(&scene{T: t, service: newService()}) })
}

// start starts a StickyComment with the test's marker.
func (s *scene) start() *StickyComment {
	return StartStickyComment(s.service, 7, marker)
}

// finish calls Finish with a time limit of 30 s.
func (s *scene) finish(p *StickyComment, text string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	return p.Finish(ctx, body(text))
}

// wait advances the fake clock, and waits until all goroutines are blocked.
func (s *scene) wait(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// wantOne checks that our account has exactly one comment, with this text.
func (s *scene) wantOne(text string) job.Comment {
	s.Helper()
	got := s.of(ours)
	if len(got) != 1 || got[0].Body != body(text) {
		s.Fatalf("our comments: got %+v, want one that says %q\nasked: %q", got, text, s.requests)
	}
	return got[0]
}

func (s *scene) wantNoError(err error) {
	s.Helper()
	assert.Check(s, err, "Finish\nasked: %q", s.requests)
}

// TestLongRunsUpdateLessOften updates a comment every second for five hours. It checks that only about
// 200 of the requests that all jobs of a repository share are used. The comment must never be more than
// two minutes old, edits must be at least fifteen seconds apart, and the last edit must be made
// immediately.
func TestLongRunsUpdateLessOften(t *testing.T) {
	inBubble(t, func(s *scene) {
		p := s.start()
		for n := range 5 * 3600 {
			p.Update(body(fmt.Sprint(n)))
			s.wait(time.Second)
		}
		began := time.Now()
		s.wantNoError(s.finish(p, "ended"))
		s.wantOne("ended")
		took := time.Since(began)
		assert.Check(t, took <= 0, "last text: got it after %v, want at once", took)
		for i, at := range s.writes[1 : len(s.writes)-1] {
			if d := at.Sub(s.writes[i]); d < every || d > slowEvery+time.Second {
				t.Errorf("write %d: got it %v after the one before, want %v to %v", i+1, d, every, slowEvery)
			}
		}
		if n := len(s.writes); n < 150 || n > 250 {
			t.Errorf("writes in five hours: got %d, want some 200", n)
		}
	})
}

// TestForeignCommentsStay checks that comments by other accounts, and our other comments, are not
// changed, whatever they contain.
func TestForeignCommentsStay(t *testing.T) {
	foreign := []struct{ author, text string }{
		{"eve", marker}, {"eve", body("begun")}, {"github-actions", body("x")}, {"Github-Actions[bot]", body("x")}, {"", body("x")},
		{ours, "> " + body("quoted")}, {ours, "\n" + body("x")}, {ours, StickyBody(StickyMarker("other.yml", "agent-issue-7"), "x", "")},
		{ours, StickyBody(StickyMarker("agent.yml", "agent-issue-8"), "x", "")}, {ours, ""}, {ours, marker[:len(marker)-5] + " -->"},
	}
	for _, self := range []string{ours, ""} {
		inBubble(t, func(s *scene) {
			s.self = self
			for _, f := range foreign {
				s.add(f.author, f.text)
			}
			before := slices.Clone(s.all)
			s.wantNoError(s.finish(s.start(), "one"))
			s.wantNoError(s.finish(s.start(), "two"))
			if got := s.all[:len(before)]; !slices.Equal(got, before) || len(s.all) != len(before)+1 {
				t.Errorf("comments: got %+v, want %+v and one more", s.all, before)
			}
		})
	}
}

// TestTwoPostersAgree checks that two StickyComments with the same marker keep the same comment, the older one.
func TestTwoPostersAgree(t *testing.T) {
	inBubble(t, func(s *scene) {
		s.fate = func(string) fate { return fate{takes: time.Second} }
		p, q := s.start(), s.start()
		p.Update(body("p"))
		q.Update(body("q"))
		s.wait(time.Minute)
		s.wantNoError(s.finish(p, "p ended"))
		s.wantNoError(s.finish(q, "q ended"))
		if one := s.wantOne("q ended"); one.ID != 11 || s.count("create") != 2 {
			t.Errorf("requests: got %q and comment %d, want two creations, and the first to stay", s.requests, one.ID)
		}
	})
}
