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

// randomFate returns a random outcome of a request to an unreliable service.
func randomFate(random *rand.Rand) fate {
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

// TestNeverASecondComment checks that in the end exactly one comment by our account shows the last text,
// and that other comments have not changed. Requests fail randomly, and StickyComments are killed and
// replaced. In half of the cases, the service does not tell which account is ours; our account is then
// the author of a comment that we have created.
func TestNeverASecondComment(t *testing.T) {
	for seed := range uint64(500) {
		synctest.Test(t, func(t *testing.T) {
			random, fates := rand.New(rand.NewPCG(seed, 7)), rand.New(rand.NewPCG(seed, 9))
			s := &scene{T: t, service: newService()}
			s.add("eve", body("forged"))
			s.add(ours, "> "+body("quoted"))
			before := slices.Clone(s.all)
			s.fate = func(string) fate { return randomFate(fates) }
			s.self = []string{ours, ""}[seed%2]
			for range 1 + random.IntN(4) {
				p := s.start()
				for n := range random.IntN(30) {
					p.Update(body(fmt.Sprint(n)))
					s.wait(time.Duration(random.IntN(20)) * time.Second)
				}
				if random.IntN(2) == 0 {
					_ = s.finish(p, "ended for now") // on an error, the next poster updates the comment
					continue
				}
				p.stop()
				<-p.done
			}
			s.wait(10 * time.Second) // wait until delayed requests have been carried out
			s.fate = nil
			s.wait(time.Minute) // wait until rate limits have ended
			s.wantNoError(s.finish(s.start(), "ended"))
			got := s.all
			if len(got) != 3 || !slices.Equal(got[:2], before) || got[2].Author.Login != ours || got[2].Body != body("ended") {
				t.Errorf("seed %d: got %+v, want %+v and one with the last text\nasked: %q", seed, got, before, s.requests)
			}
		})
		if t.Failed() {
			return
		}
	}
}
