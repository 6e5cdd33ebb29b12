//go:build linux

package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
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
	s.run(3, "--max-iterations", "1")
	for round := 1; round <= 20; round++ {
		args := []string{"resume", runID, "--max-iterations", fmt.Sprint(round + 1)}
		winner, loser := s.race(args, args)
		wantConflict(t, winner, loser)
		if o := winner.wait(); o.code != 3 {
			t.Fatalf("round %d: the winner: got %v, want exit code 3", round, o)
		}
		if n := len(s.lines("effects")); n != round {
			t.Fatalf("round %d: state executions: got %d, want %d", round, n, round)
		}
	}
}

// TestOneOfTwoRunsOfAnIDRuns starts two new runs of one id together.
func TestOneOfTwoRunsOfAnIDRuns(t *testing.T) {
	t.Parallel()
	for range 5 {
		s := newSite(t, held)
		args := s.runArgs("--max-iterations", "2")
		winner, loser := s.race(args, args)
		wantConflict(t, winner, loser)
		if o := winner.wait(); o.code != 3 || len(s.lines("effects")) != 1 {
			t.Errorf("the winner: got %v and effects %q, want exit code 3 and one effect", o, s.lines("effects"))
		}
	}
}

// race starts two commands together and lets the states go on when one of them
// has ended, which is the loser.
func (s *site) race(a, b []string) (winner, loser *command) {
	s.t.Helper()
	if err := os.RemoveAll(s.file("go")); err != nil {
		s.t.Fatal(err)
	}
	first, second := s.start(a...), s.start(b...)
	winner, loser = first, second
	select {
	case <-first.done:
		winner, loser = second, first
	case <-second.done:
	case <-time.After(patience):
		s.killAll(first, second)
		s.t.Fatalf("two orchestrators of one run: got none that ended within %v, want one at once", patience)
	}
	s.write(s.file("go"), "")
	return winner, loser
}

// wantConflict checks that the loser ended with a conflict that names the winner.
func wantConflict(t testing.TB, winner, loser *command) {
	t.Helper()
	o := loser.wait()
	holder := fmt.Sprintf("process %d on", winner.cmd.Process.Pid)
	if o.code != 4 || !strings.Contains(o.stderr, "raymond: conflict: ") || !strings.Contains(o.stderr, holder) {
		t.Errorf("the other orchestrator: got %v\nwant exit code 4 and %q in the message", o, holder)
	}
}
