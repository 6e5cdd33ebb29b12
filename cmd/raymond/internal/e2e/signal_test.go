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

// maxTurns is the maximum number of turns that a script may count between a signal and the end of its run. A
// turn takes 50 ms, and longer on a busy machine.
const maxTurns = 200

// stubbornWorkflow is a workflow whose second state ignores signals and runs until it is killed, or until the file "go"
// exists. It appends a line to the file "turns" every 50 ms.
const stubbornWorkflow = `
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

// politeWorkflow is like stubbornWorkflow, but its script ends on a signal.
var politeWorkflow = strings.ReplaceAll(stubbornWorkflow, "trap '' INT TERM\n", "")

// TestCancelSavesTheRunAndLeavesNoProcess cancels one run whose script ends on a signal, and one
// whose script ignores signals.
func TestCancelSavesTheRunAndLeavesNoProcess(t *testing.T) {
	for name, c := range map[string]struct {
		workflow string
		signal   syscall.Signal
		code     int
	}{
		"SIGINT":                     {politeWorkflow, syscall.SIGINT, 130},
		"SIGTERM":                    {politeWorkflow, syscall.SIGTERM, 143},
		"SIGTERM, script ignores it": {stubbornWorkflow, syscall.SIGTERM, 143},
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

// wantCancelled sends the signal and checks that the run ends in time, with the given exit code, and can be resumed.
func (s *site) wantCancelled(j *sitetest.Command, sig syscall.Signal, code int) {
	s.T.Helper()
	before := len(s.Lines("turns"))
	j.Signal(sig)
	o := j.Wait()
	turns := len(s.Lines("turns")) - before
	assert.Check(s.T, turns <= maxTurns, "end: got %d turns of 50 ms before it, want at most %d", turns, maxTurns)
	if o.Code != code || !strings.Contains(o.Stderr, "raymond: cancelled: ") || !strings.Contains(o.Stderr, "raymond resume "+sitetest.RunID) {
		s.T.Errorf("end: got %v\nwant exit code %d and how to resume", o, code)
	}
	if left := s.Processes(); len(left) > 0 {
		s.T.Errorf("processes after the end: got %v, want none", sitetest.Describe(left))
	}
	assert.Check(s.T, is.Equal(s.Saved().Progress.Status, state.Cancelled), "saved run")
}
