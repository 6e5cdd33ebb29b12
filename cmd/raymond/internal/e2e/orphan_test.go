//go:build linux

package e2e

import (
	"strconv"
	"testing"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
)

// deserter is a script that leaves a process in a session of its own, with no parent and none
// of its files, and waits. When it runs again it tells whether that one is alive.
const deserter = `
-- 1_START.sh --
echo "<goto>DESERT.sh</goto>"
-- DESERT.sh --
if [ -e deserter ]; then
	# A process that has died may wait for a while until its parent takes note.
	if grep -q '^State:.[^ZX]' "/proc/$(cat deserter)/status"; then echo "<result>it lives</result>"; else echo "<result>it is gone</result>"; fi
	exit
fi
(setsid bash -c 'echo $$ >deserter.tmp; mv deserter.tmp deserter; exec sleep 300' </dev/null >/dev/null 2>&1 &); sleep 300
`

// TestProcessOfAScriptIsGoneBeforeItRunsAgain: what a run that was killed has left does not
// work on beside the one that resumes it.
func TestProcessOfAScriptIsGoneBeforeItRunsAgain(t *testing.T) {
	t.Parallel()
	s := newSite(t, deserter)
	j := s.Start(s.RunArgs()...)
	j.Until("a process that leaves", func() bool { return len(s.Lines("deserter")) == 1 })
	if pid, err := strconv.Atoi(s.Lines("deserter")[0]); err != nil || !sitetest.Alive(pid) {
		t.Fatalf("process %d that left (%v): got it dead, want it alive before the kill", pid, err)
	}
	j.Kill()
	if o := s.Resume(0); o.Stdout != "it is gone\n" {
		t.Errorf("what the script found when it ran again: got %v, want %q", o, "it is gone\n")
	}
}
