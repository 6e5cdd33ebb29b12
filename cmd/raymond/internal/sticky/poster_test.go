package sticky

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/internal/forge"
)

var marker = Marker("agent.yml", "agent-issue-7")

func body(text string) string { return Body(marker, text, "") }

// scene is a poster and its service, with a fake clock.
type scene struct {
	*testing.T
	*service
	memory Memory
}

// inBubble runs a test with a fake clock.
func inBubble(t *testing.T, test func(*scene)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(&scene{T: t, service: newService()}) })
}

// start starts a poster with what an earlier one remembered.
func (s *scene) start() *Poster {
	return Start(Options{API: s.service, Marker: marker, Memory: s.memory, Remember: s.remember})
}

// remember may be called by the goroutines of several posters.
func (s *scene) remember(m Memory) { s.locked(func() { s.memory = m }) }

// finish ends a poster that has 30 s for its last text.
func (s *scene) finish(p *Poster, text string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if text != "" {
		text = body(text)
	}
	return p.Finish(ctx, text)
}

// wait lets time pass, with all that happens meanwhile.
func (s *scene) wait(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// wantOne checks that there is one comment of ours, and what it says.
func (s *scene) wantOne(text string) job.Comment {
	s.Helper()
	got := s.of(ours)
	if len(got) != 1 || got[0].Body != body(text) {
		s.Fatalf("our comments: got %+v, want one that says %q\nasked: %q", got, text, s.asked)
	}
	return got[0]
}

func (s *scene) wantNoError(err error) {
	s.Helper()
	if err != nil {
		s.Errorf("Finish: got %v, want no error\nasked: %q", err, s.asked)
	}
}

// wantAsked checks which requests were made, in order.
func (s *scene) wantAsked(want string) {
	s.Helper()
	if got := strings.Join(s.asked, " "); got != want {
		s.Errorf("asked: got %q, want %q", got, want)
	}
}

func TestFirstTextMakesTheComment(t *testing.T) {
	inBubble(t, func(s *scene) {
		s.add("eve", "hello")
		p := s.start()
		synctest.Wait()
		s.wantAsked("")
		p.Show(body("begun"))
		synctest.Wait()
		one := s.wantOne("begun")
		s.wantNoError(s.finish(p, "ended"))
		s.wantOne("ended")
		s.wantAsked("list create list edit")
		if want := (Memory{ID: one.ID}); s.memory != want {
			t.Errorf("memory: got %+v, want %+v", s.memory, want)
		}
	})
}

// TestEditsAreRare: texts that come every second are shown every 15 s, the newest
// of them, and the last at once.
func TestEditsAreRare(t *testing.T) {
	inBubble(t, func(s *scene) {
		p := s.start()
		for n := range 100 {
			p.Show(body(fmt.Sprint(n)))
			s.wait(time.Second)
			if shown, old := s.of(ours)[0].Body, n-15; old > 0 && shown < body(fmt.Sprint(old)) && len(shown) <= len(body(fmt.Sprint(old))) {
				t.Errorf("after text %d: got %q, want none older than 15 s", n, shown)
			}
		}
		began := time.Now()
		s.wantNoError(s.finish(p, "ended"))
		s.wantOne("ended")
		if took := time.Since(began); took > 0 {
			t.Errorf("last text: got it after %v, want at once", took)
		}
		for i, at := range s.wrote[1 : len(s.wrote)-1] {
			if d := at.Sub(s.wrote[i]); d < Every {
				t.Errorf("write %d: got it %v after the one before, want %v at least", i+1, d, Every)
			}
		}
		if n := len(s.wrote); n != 8 {
			t.Errorf("writes in 100 s: got %d, want 8", n)
		}
	})
}

// TestLongRunsAreToldOfLessOften: hours with a new text every second take few of the
// requests that the jobs of a repository share, and the comment is never more than two
// minutes old.
func TestLongRunsAreToldOfLessOften(t *testing.T) {
	inBubble(t, func(s *scene) {
		p := s.start()
		for n := range 5 * 3600 {
			p.Show(body(fmt.Sprint(n)))
			s.wait(time.Second)
		}
		s.wantNoError(s.finish(p, "ended"))
		s.wantOne("ended")
		for i, at := range s.wrote[1:] {
			if d := at.Sub(s.wrote[i]); d > SlowEvery+time.Second {
				t.Errorf("write %d: got it %v after the one before, want %v at most", i+1, d, SlowEvery)
			}
		}
		if n := len(s.wrote); n < 150 || n > 250 {
			t.Errorf("writes in five hours: got %d, want some 200", n)
		}
	})
}

// TestSameTextIsWrittenOnce: a text that the comment already shows is not written again,
// not even at the end.
func TestSameTextIsWrittenOnce(t *testing.T) {
	inBubble(t, func(s *scene) {
		p := s.start()
		for range 5 {
			p.Show(body("same"))
			s.wait(20 * time.Second)
		}
		s.wantNoError(s.finish(p, "same"))
		s.wantAsked("list create list")
	})
}

// TestShowNeverWaits: Show returns at once while the service does not answer.
func TestShowNeverWaits(t *testing.T) {
	inBubble(t, func(s *scene) {
		s.fate = func(string) fate { return fate{takes: time.Hour} }
		p, began := s.start(), time.Now()
		for n := range 1000 {
			p.Show(body(fmt.Sprint(n)))
			synctest.Wait()
		}
		if took := time.Since(began); took > 0 {
			t.Errorf("1000 texts: got %v, want no time", took)
		}
		var unfinished *Unfinished
		if err := s.finish(p, "ended"); !errors.As(err, &unfinished) {
			t.Errorf("Finish: got %v, want it unfinished", err)
		}
		if took := time.Since(began); took != 30*time.Second {
			t.Errorf("Finish: got it after %v, want after 30 s", took)
		}
	})
}

// TestALaterPosterFindsTheComment: by its id, if that was remembered, in two requests, or
// by its marker.
func TestALaterPosterFindsTheComment(t *testing.T) {
	for _, forgets := range []bool{false, true} {
		inBubble(t, func(s *scene) {
			p := s.start()
			s.wantNoError(s.finish(p, "one"))
			one, want := s.wantOne("one"), "get self edit"
			if s.asked = nil; forgets {
				s.memory, want = Memory{}, "list self edit"
			}
			p = s.start()
			p.Show(body("two"))
			synctest.Wait()
			if two := s.wantOne("two"); two.ID != one.ID {
				t.Errorf("comment: got %d, want %d", two.ID, one.ID)
			}
			s.wantAsked(want)
			s.wantNoError(s.finish(p, ""))
			s.wantOne("two")
		})
	}
}

// TestOthersCommentsStay: no comment of somebody else is changed, whatever is in it and
// whatever was remembered.
func TestOthersCommentsStay(t *testing.T) {
	foreign := []struct{ author, text string }{
		{"eve", marker}, {"eve", body("begun")}, {"github-actions", body("x")}, {"Github-Actions[bot]", body("x")}, {"", body("x")},
		{ours, "> " + body("quoted")}, {ours, "\n" + body("x")}, {ours, Body(Marker("other.yml", "agent-issue-7"), "x", "")},
		{ours, Body(Marker("agent.yml", "agent-issue-8"), "x", "")}, {ours, ""}, {ours, marker[:len(marker)-5] + " -->"},
	}
	for _, self := range []string{ours, ""} {
		inBubble(t, func(s *scene) {
			s.self = self
			for _, f := range foreign {
				s.memory = Memory{ID: s.add(f.author, f.text)}
			}
			before := slices.Clone(s.all)
			for _, c := range before {
				s.memory.ID = c.ID
				s.wantNoError(s.finish(s.start(), fmt.Sprint("of ", c.ID)))
			}
			if got := s.all[:len(before)]; !slices.Equal(got, before) || len(s.all) != len(before)+1 {
				t.Errorf("comments: got %+v, want %+v and one more", s.all, before)
			}
		})
	}
}

// TestALostAnswerMakesNoSecondComment: not if the comment was created, is created later,
// or never is.
func TestALostAnswerMakesNoSecondComment(t *testing.T) {
	passing := &forge.Error{Kind: forge.Unanswered, Op: "502"}
	for name, f := range map[string]fate{
		"made": {err: passing, done: true}, "not made": {err: passing},
		"made later": {err: passing, done: true, later: 5 * time.Second}, "made without an end": {err: passing, done: true, takes: 9 * time.Second},
		"made later than another": {err: passing, done: true, later: 20 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(s *scene) {
				s.fate = func(what string) fate {
					if what == "create" && s.fate != nil {
						s.fate = nil
						return f
					}
					return fate{}
				}
				p := s.start()
				p.Show(body("begun"))
				s.wait(40 * time.Second)
				s.wantNoError(s.finish(p, "ended"))
				s.wantOne("ended")
			})
		})
	}
}

// TestAKilledPosterLeavesNoSecondComment: a poster that was killed during a creation is
// followed by one that looks for the comment.
func TestAKilledPosterLeavesNoSecondComment(t *testing.T) {
	for _, later := range []time.Duration{0, 2 * time.Second} {
		inBubble(t, func(s *scene) {
			s.fate = func(what string) fate {
				if what == "create" {
					return fate{takes: time.Minute}
				}
				return fate{}
			}
			p := s.start()
			p.Show(body("begun"))
			s.wait(time.Second)
			kept := s.memory
			p.stop()
			<-p.done
			s.memory = kept // killed, it would not have kept anything more
			time.AfterFunc(later, func() { s.add(ours, body("begun")) })
			s.fate = nil
			synctest.Wait()
			if !s.memory.Unsure {
				t.Fatalf("memory: got %+v, want it in doubt", s.memory)
			}
			p = s.start()
			p.Show(body("again"))
			s.wait(time.Second + later)
			s.wantNoError(s.finish(p, "ended"))
			s.wantOne("ended")
			if s.memory.Unsure {
				t.Errorf("memory: got %+v, want no doubt", s.memory)
			}
		})
	}
}

// TestARemovedCommentComesBackOnce: a comment that somebody removes is created again
// once.
func TestARemovedCommentComesBackOnce(t *testing.T) {
	inBubble(t, func(s *scene) {
		p := s.start()
		for n := range 4 {
			p.Show(body(fmt.Sprint(n)))
			s.wait(time.Minute)
			for _, c := range s.of(ours) {
				s.take(c.ID)
			}
		}
		err := s.finish(p, "ended")
		var unfinished *Unfinished
		if got := s.of(ours); len(got) > 0 || err == nil || errors.As(err, &unfinished) || s.count("create") != 2 {
			t.Errorf("comments: got %+v, %v, %d creations; want none, an error, 2", got, err, s.count("create"))
		}
	})
}

// TestTwoPostersAgree: two posters keep the older of two comments.
func TestTwoPostersAgree(t *testing.T) {
	inBubble(t, func(s *scene) {
		s.fate = func(string) fate { return fate{takes: time.Second} }
		p, q := s.start(), s.start()
		p.Show(body("p"))
		q.Show(body("q"))
		s.wait(time.Minute)
		s.wantNoError(s.finish(p, "p ended"))
		s.wantNoError(s.finish(q, "q ended"))
		if one := s.wantOne("q ended"); one.ID != 11 || s.count("create") != 2 || s.count("delete") == 0 {
			t.Errorf("asked: got %q and comment %d, want two creations, a deletion, and the first to stay", s.asked, one.ID)
		}
	})
}
