//go:build linux

package session_test

import (
	"fmt"
	"regexp"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
	"github.com/raymond-action/raymond-action/internal/invarianttest"
	"github.com/raymond-action/raymond-action/state"
)

// cancelledAt is what a process says when it sends itself SIGINT.
var cancelledAt = regexp.MustCompile(`(?m)^cancelled at (\d+)$`)

// slowest is the longest of some times.
type slowest struct {
	mu    sync.Mutex // guards the rest
	most  time.Duration
	times int
}

func (s *slowest) note(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.most, s.times = max(s.most, d), s.times+1
}

// TestCancelledAtEveryFailpoint sends SIGINT at every moment that a save has: the run is
// saved and ends, and a resume brings it to its end.
func TestCancelledAtEveryFailpoint(t *testing.T) {
	t.Parallel()
	whole := killableSite(t)
	whole.Raymond(0, whole.killableArgs()...)
	effects := invarianttest.EffectsOf(whole.Lines("effects"))
	var took slowest
	eachFailpoint(t, sitetest.Dose(9, 1), func(t *testing.T, n int) bool {
		s := killableSite(t)
		s.Bin, s.Whole = sitetest.Breaking.Path(t), effects
		j := s.StartWith([]string{fmt.Sprint(sitetest.CancelVar, "=", n)}, s.killableArgs()...)
		o := j.Wait()
		m := cancelledAt.FindStringSubmatch(o.Stderr)
		if m == nil {
			s.wantTheEnd(o)
			return false
		}
		at, err := strconv.ParseInt(m[1], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		took.note(j.Began.Add(o.Took).Sub(time.Unix(0, at)))
		if o.Code == 0 {
			s.wantTheEnd(o) // its last step was being saved
			return true
		}
		if run := s.Saved(); o.Code != 130 || run.Progress.Status != state.Cancelled {
			t.Errorf("cancelled at failpoint %d: got %v and status %s, want exit code 130, and cancelled", n, o, run.Progress.Status)
		}
		s.wantTheEnd(s.Start(s.killableArgs()...).Wait())
		return true
	})
	t.Logf("%d cancels, the slowest took %v", took.times, took.most)
	if least := sitetest.Dose(5, 30); took.times < least {
		t.Errorf("cancels: got %d, want at least %d", took.times, least)
	}
}
