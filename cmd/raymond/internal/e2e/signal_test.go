//go:build linux

package e2e

import (
	"strings"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
	"github.com/raymond-action/raymond-action/state"
)

// mostTurns is how many turns of 50 ms a script may have between a signal and the end of its
// run, which is to come within 5 s. Scripts count them: on a busy machine they are slower, too.
const mostTurns = 200

// stubborn is a workflow whose second state runs until it is killed, unless there
// is a file "go". It writes a line to "turns" now and then.
const stubborn = `
-- 1_START.md --
log: start
reply:
<goto input="kept">STAY.sh</goto>
end.
-- STAY.sh --
if [ -e go ]; then echo "<result>$RAYMOND_INPUT</result>"; exit; fi
trap '' INT TERM
touch staying
while :; do echo >>turns; sleep 0.05; done
`

// polite is the same with a script that ends when it is asked to.
var polite = strings.ReplaceAll(stubborn, "trap '' INT TERM\n", "")

// TestCancelKeepsEverythingAndLeavesNothing holds what a cancel promises, for
// what ends at once and for what does not.
func TestCancelKeepsEverythingAndLeavesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		workflow string
		signal   syscall.Signal
		code     int
	}{
		"SIGINT":                     {polite, syscall.SIGINT, 130},
		"SIGTERM":                    {polite, syscall.SIGTERM, 143},
		"SIGTERM, script ignores it": {stubborn, syscall.SIGTERM, 143},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, c.workflow)
			j := s.Start(s.RunArgs()...)
			j.Until("the script", func() bool { return sitetest.Exists(s.File("staying")) })
			s.wantCancelled(j, c.signal, c.code)
			assert.Check(t, is.Equal(s.Saved().Progress.TotalUSD, state.Dollar/100), "cost: want the $0.01 that the first state has cost")
			s.Write(s.File("go"), "")
			assert.Check(t, is.Equal(s.Resume(0).Stdout, "kept\n"), "resume")
		})
	}
}

// wantCancelled sends the signal and checks how soon and how well the run ends.
func (s *site) wantCancelled(j *sitetest.Command, sig syscall.Signal, code int) {
	s.T.Helper()
	before := len(s.Lines("turns"))
	j.Signal(sig)
	o := j.Wait()
	turns := len(s.Lines("turns")) - before
	assert.Check(s.T, turns <= mostTurns, "end: got %d turns of 50 ms before it, want at most %d", turns, mostTurns)
	if o.Code != code || !strings.Contains(o.Stderr, "raymond: cancelled: ") || !strings.Contains(o.Stderr, "raymond resume "+sitetest.RunID) {
		s.T.Errorf("end: got %v\nwant exit code %d and how to resume", o, code)
	}
	if left := s.Processes(); len(left) > 0 {
		s.T.Errorf("processes after the end: got %v, want none", sitetest.Describe(left))
	}
	assert.Check(s.T, is.Equal(s.Saved().Progress.Status, state.Cancelled), "saved run")
}
