package sticky

import (
	"slices"
	"testing"
	"time"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/internal/forge"
)

// TestARememberedCommentThatIsGone: the comment is looked for, and created again.
func TestARememberedCommentThatIsGone(t *testing.T) {
	inBubble(t, func(s *scene) {
		s.wantNoError(s.finish(s.start(), "one"))
		s.take(s.wantOne("one").ID)
		s.asked = nil
		s.wantNoError(s.finish(s.start(), "two"))
		s.wantOne("two")
		s.wantAsked("get list create list")
	})
}

// TestAListThatLagsBehind: a list that lacks the comment that was just created leads to
// no second one.
func TestAListThatLagsBehind(t *testing.T) {
	inBubble(t, func(s *scene) {
		p := s.start()
		s.hides = true
		p.Show(body("begun"))
		s.wait(time.Minute)
		p.Show(body("more"))
		s.wait(time.Minute)
		s.wantOne("more")
		s.wantNoError(s.finish(p, "ended"))
		s.wantOne("ended")
	})
}

// TestTheOldestStays: of several comments of ours only the oldest one stays, even if a
// list lacks it.
func TestTheOldestStays(t *testing.T) {
	by := func(id int64, author string) job.Comment { return job.Comment{ID: id, Author: author, Body: body("x")} }
	for _, test := range []struct {
		id      int64
		list    []job.Comment
		want    int64
		surplus []int64
	}{
		{0, nil, 0, nil},
		{0, []job.Comment{by(1, "eve")}, 0, nil},
		{20, []job.Comment{by(10, ours)}, 10, []int64{20}},
		{20, []job.Comment{by(10, "eve"), by(20, ours), by(30, ours)}, 20, []int64{30}},
		{10, []job.Comment{by(20, ours)}, 10, []int64{20}},
		{0, []job.Comment{by(30, ours), by(20, ours), by(25, ours)}, 20, []int64{30, 25}},
	} {
		s := &comment{marker: marker, self: ours, id: test.id, duplicates: []int64{99}}
		s.found(test.list)
		if test.want == 0 {
			test.surplus = []int64{99}
		}
		if s.id != test.want || !slices.Equal(s.duplicates, test.surplus) {
			t.Errorf("comment %d, list %+v: got %d and too many %d, want %d and %d", test.id, test.list, s.id, s.duplicates, test.want, test.surplus)
		}
	}
}

// TestAListThatIsRefusedLater: edits continue even if comments can no longer be listed.
func TestAListThatIsRefusedLater(t *testing.T) {
	inBubble(t, func(s *scene) {
		s.fate = func(what string) fate {
			if what == "list" && slices.Contains(s.asked, "create") {
				return fate{err: &forge.Error{Kind: forge.Denied, Op: "no"}}
			}
			return fate{}
		}
		p := s.start()
		p.Show(body("begun"))
		s.wait(time.Minute)
		s.wantNoError(s.finish(p, "ended"))
		s.wantOne("ended")
	})
}

// TestWhoWeAreIsAskedAgain: if the account of the token could not be had, it is asked for
// again, and no second comment is created.
func TestWhoWeAreIsAskedAgain(t *testing.T) {
	inBubble(t, func(s *scene) {
		s.wantNoError(s.finish(s.start(), "one"))
		one, tries := s.wantOne("one"), 0
		s.memory = Memory{}
		s.fate = func(what string) fate {
			if what == "self" {
				tries++
			}
			if what == "self" && tries < 4 {
				return fate{err: &forge.Error{Op: "502"}}
			}
			return fate{}
		}
		s.wantNoError(s.finish(s.start(), "two"))
		if two := s.wantOne("two"); two.ID != one.ID || s.count("create") != 1 {
			t.Errorf("comment: got %d, want %d\nasked: %q", two.ID, one.ID, s.asked)
		}
	})
}

// TestWhereNobodySaysWhoWeAre: if the service refuses to name our account, the author of
// the comment that we created is ours; an older comment of that author stays.
func TestWhereNobodySaysWhoWeAre(t *testing.T) {
	inBubble(t, func(s *scene) {
		s.self = ""
		for _, text := range []string{"one", "two", "three"} {
			s.memory = Memory{}
			s.wantNoError(s.finish(s.start(), text))
			if got := s.wantOne(text); got.ID != 11 {
				t.Errorf("comment that says %q: got %d, want 11", text, got.ID)
			}
		}
	})
}
