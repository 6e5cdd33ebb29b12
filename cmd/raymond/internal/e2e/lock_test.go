//go:build linux

package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
)

// held is a workflow whose second state comes back to itself, each time when
// there is a file "go".
const held = `
-- 1_START.sh --
echo "<goto>HOLD.sh</goto>"
-- HOLD.sh --
echo held >>"$SIDE_EFFECTS"
until [ -e go ]; do sleep 0.01; done
echo "<goto>HOLD.sh</goto>"
`

// TestOneOfTwoOrchestratorsRuns starts two resumes of a run together, often.
func TestOneOfTwoOrchestratorsRuns(t *testing.T) {
	t.Parallel()
	s := newSite(t, held)
	s.Run(3, "--max-iterations", "1")
	for round := 1; round <= sitetest.Dose(4, 20); round++ {
		args := []string{"resume", sitetest.RunID, "--max-iterations", fmt.Sprint(round + 1)}
		winner, loser := s.race(args, args)
		wantConflict(t, winner, loser)
		if o := winner.Wait(); o.Code != 3 {
			t.Fatalf("round %d: the winner: got %v, want exit code 3", round, o)
		}
		if n := len(s.Lines("effects")); n != round {
			t.Fatalf("round %d: state executions: got %d, want %d", round, n, round)
		}
	}
}

// race starts two commands together and lets the states continue when one of them
// has ended, which is the loser.
func (s *site) race(a, b []string) (winner, loser *sitetest.Command) {
	s.T.Helper()
	if err := os.RemoveAll(s.File("go")); err != nil {
		s.T.Fatal(err)
	}
	first, second := s.Start(a...), s.Start(b...)
	winner, loser = first, second
	select {
	case <-first.Done:
		winner, loser = second, first
	case <-second.Done:
	case <-time.After(sitetest.Patience):
		s.KillAll(first, second)
		s.T.Fatalf("two orchestrators of one run: got none that ended within %v, want one at once", sitetest.Patience)
	}
	s.Write(s.File("go"), "")
	return winner, loser
}

// wantConflict checks that the loser ended with a conflict that names the winner.
func wantConflict(t testing.TB, winner, loser *sitetest.Command) {
	t.Helper()
	o := loser.Wait()
	holder := fmt.Sprintf("process %d on", winner.Cmd.Process.Pid)
	if o.Code != 4 || !strings.Contains(o.Stderr, "raymond: conflict: ") || !strings.Contains(o.Stderr, holder) {
		t.Errorf("the other orchestrator: got %v\nwant exit code 4 and %q in the message", o, holder)
	}
}
