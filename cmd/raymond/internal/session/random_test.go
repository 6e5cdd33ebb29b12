//go:build linux

package session_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
	"github.com/raymond-action/raymond-action/internal/invarianttest"
	"github.com/raymond-action/raymond-action/state"
)

func killableSite(t testing.TB) *site {
	t.Helper()
	return plainSite(t, sitetest.Killable)
}

func (s *site) killableArgs() []string {
	if sitetest.Exists(s.StateFile()) {
		return []string{"resume", sitetest.RunID}
	}
	return s.RunArgs("--input", "in", "--max-parallel", "3", "--budget", "0")
}

// TestKilledAtRandomMoments kills runs at any moment, and what resumes them, ten times
// or until they end. Every run comes to its end, and the invariants hold. A dose in which no kill met
// an agent, or the commands of done_when, proves nothing.
func TestKilledAtRandomMoments(t *testing.T) {
	t.Parallel()
	seed := sitetest.Seed(t)
	whole := killableSite(t)
	took := whole.Raymond(0, whole.killableArgs()...).Took
	effects := invarianttest.EffectsOf(whole.Lines("effects"))
	kills := sitetest.Kills() * 15 / 16
	var l sitetest.Landed
	t.Run("runs", func(t *testing.T) {
		for n := range (kills + killsOfARun - 1) / killsOfARun {
			t.Run(fmt.Sprintf("%d of seed %d", n, seed), func(t *testing.T) {
				t.Parallel()
				random := rand.New(rand.NewPCG(seed, uint64(n)))
				for kills := 0; kills < killsOfARun && !t.Failed(); {
					s := killableSite(t)
					s.Whole = effects
					kills += killOften(s, sitetest.Aim{Random: random, Within: took / 2, Effects: s.SideEffects()}, killsOfARun-kills, &l)
				}
			})
		}
	})
	t.Logf("seed %d: %d kills: %d while an agent ran, %d in verify", seed, l.Kills, l.Agent, l.Verify)
	if l.Agent == 0 || l.Verify == 0 || l.Kills < kills && !t.Failed() {
		t.Errorf("%d kills, %d while an agent ran and %d in verify: want %d, and some of each", l.Kills, l.Agent, l.Verify, kills)
	}
}

// killsOfARun is how often one run is killed, if it does not end before.
const killsOfARun = 10

// killOften kills a run, the orchestrator alone or now and then everything, until it
// ends or enough is enough. It returns how often.
func killOften(s *site, at sitetest.Aim, most int, l *sitetest.Landed) int {
	s.T.Helper()
	for kills := range most {
		j := s.Start(s.killableArgs()...)
		if !at.Wait(j) || !j.Shoot() {
			s.wantTheEnd(j.Wait())
			return kills
		}
		if at.Random.IntN(5) == 0 {
			s.KillAll(j)
		}
		run, _ := state.Read(s.StateDir(), sitetest.RunID) // none, before its first save
		l.Note(run, 0)
	}
	s.wantTheEnd(s.Start(s.killableArgs()...).Wait())
	return most
}

func (s *site) wantTheEnd(o sitetest.Outcome) {
	s.T.Helper()
	if o.Code != 0 || o.Stdout != "the end\n" {
		s.T.Errorf("got %v, want the result of a run that is completed", o)
	}
}
