//go:build linux

package e2e

import (
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
	"github.com/raymond-action/raymond-action/internal/invarianttest"
	"github.com/raymond-action/raymond-action/state"
	"github.com/raymond-action/raymond-action/state/journal"
)

func killableSite(t testing.TB) *site {
	t.Helper()
	return newSite(t, sitetest.Killable)
}

func (s *site) killableArgs() []string {
	if sitetest.Exists(s.StateFile()) {
		return []string{"resume", sitetest.RunID}
	}
	return s.RunArgs("--input", "in", "--max-parallel", "3", "--budget", "0")
}

// TestKilledAtRandomMoments interrupts runs, and the commands that resume them, at random moments, up to killsOfARun
// times each. Most processes are killed; some get a signal that cancels the run. Every run must complete, and the
// invariants must hold.
func TestKilledAtRandomMoments(t *testing.T) {
	t.Parallel()
	seed := sitetest.Seed(t)
	whole := killableSite(t)
	took := whole.Raymond(0, whole.killableArgs()...).Took
	effects := invarianttest.ParseEffects(whole.Lines("effects"))
	kills := sitetest.Dose(50, 2000)
	for n := range (kills + killsOfARun - 1) / killsOfARun {
		t.Run(fmt.Sprintf("%d of seed %d", n, seed), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, uint64(n)))
			for kills := 0; kills < killsOfARun && !t.Failed(); {
				s := killableSite(t)
				s.Undisturbed = effects
				kills += killOften(s, random, took/2, killsOfARun-kills)
			}
		})
	}
}

// killsOfARun is the maximum number of interruptions of one run.
const killsOfARun = 10

// killOften interrupts a run at most the given number of times, then lets it end. It returns the number of
// interruptions. An interruption kills the orchestrator, sometimes with all its children, or cancels the run.
func killOften(s *site, random *rand.Rand, within time.Duration, most int) int {
	s.T.Helper()
	for kills := range most {
		j := s.Start(s.killableArgs()...)
		if !j.WaitAtRandom(random, within) {
			s.wantTheEnd(j.Wait())
			return kills
		}
		switch how := random.IntN(6); {
		case how == 0 && s.isCancelled(j):
		case how == 0 || !j.Shoot():
			s.wantTheEnd(j.Wait())
			return kills
		case how == 1:
			s.KillAll(j)
		}
	}
	s.wantTheEnd(s.Start(s.killableArgs()...).Wait())
	return most
}

// isCancelled sends a signal to cancel the run, and reports whether the run was cancelled before it completed.
func (s *site) isCancelled(j *sitetest.Command) bool {
	s.T.Helper()
	_ = j.Cmd.Process.Signal(syscall.SIGTERM) // fails if it has already ended
	o := j.Wait()
	// A signal that arrives before raymond handles signals ends the process, so no run is saved as cancelled.
	run, err := journal.Read(s.StateDir(), sitetest.RunID)
	if o.Code == 143 && err == nil && run.Progress.Status != state.Cancelled {
		s.T.Errorf("cancelled: got %v and status %s", o, run.Progress.Status)
	}
	return o.Code == 143 || o.Code == -1
}

func (s *site) wantTheEnd(o sitetest.Outcome) {
	s.T.Helper()
	assert.Check(s.T, is.Equal(o.Code, 0))
	assert.Check(s.T, is.Equal(o.Stdout, "the end\n"))
}
