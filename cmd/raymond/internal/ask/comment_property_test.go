package ask

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/raymond-action/raymond-action/internal/forge"
)

// trouble returns what happens to a request while the service fails.
func trouble(random *rand.Rand) fate {
	passing := &forge.Error{Kind: forge.Unanswered, Op: "502"}
	takes := time.Duration(random.IntN(3000)) * time.Millisecond
	switch random.IntN(8) {
	case 0:
		return fate{err: passing, takes: takes}
	case 1:
		return fate{err: passing, done: true, takes: takes}
	case 2:
		return fate{err: passing, done: true, takes: takes, later: time.Duration(random.IntN(5000)) * time.Millisecond}
	case 3:
		return fate{err: &forge.Error{Kind: forge.Limited, Wait: time.Duration(random.IntN(60)) * time.Second}}
	}
	return fate{takes: takes}
}

// TestNeverASecondComment: whatever happens to requests, and to posters that are killed
// and followed by others, in the end one comment of ours has the last text, and those of
// others have not changed. That holds also where the service refuses to name our account: then the
// author of the comment that we created is ours.
func TestNeverASecondComment(t *testing.T) {
	for seed := range uint64(500) {
		synctest.Test(t, func(t *testing.T) {
			random, fates := rand.New(rand.NewPCG(seed, 7)), rand.New(rand.NewPCG(seed, 9))
			s := &scene{T: t, service: newService()}
			s.add("eve", body("forged"))
			s.add(ours, "> "+body("quoted"))
			before := slices.Clone(s.all)
			s.fate = func(string) fate { return trouble(fates) }
			s.self = []string{ours, ""}[seed%2]
			for range 1 + random.IntN(4) {
				s.part(random)
			}
			s.wait(10 * time.Second) // what comes late has come
			s.fate = nil
			s.wait(time.Minute) // and what the service told to wait for
			s.wantNoError(s.finish(s.start(), "ended"))
			got := s.all
			if len(got) != 3 || !slices.Equal(got[:2], before) || got[2].Author.Login != ours || got[2].Body != body("ended") {
				t.Errorf("seed %d: got %+v, want %+v and one that says the last\nasked: %q", seed, got, before, s.asked)
			}
		})
		if t.Failed() {
			return
		}
	}
}

// part is a poster that shows some texts and then ends, or is killed.
func (s *scene) part(random *rand.Rand) {
	p := s.start()
	for n := range random.IntN(30) {
		p.Update(body(fmt.Sprint(n)))
		s.wait(time.Duration(random.IntN(20)) * time.Second)
	}
	if random.IntN(2) == 0 {
		_ = s.finish(p, "ended for now") // or the next part does
		return
	}
	p.stop()
	<-p.done
}
