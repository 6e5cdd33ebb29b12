package e2e

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
)

// planting is a workflow whose first state does what it is told to in the run's own
// folders, and whose second one shows how far the run came.
const planting = `
-- 1_START.sh --
R="$PWD/.raymond/state/RUN" D="$PWD/debug"
%s
echo "<goto>NEXT.sh</goto>"
-- NEXT.sh --
touch came
if [ -e go ]; then echo "<result>done</result>"; exit; fi
echo "<goto>NEXT.sh</goto>"
`

// plants are what an agent can put where the run writes next. A pipe whose other end
// nobody holds would be waited for until the machine is taken away.
var plants = map[string]string{
	"a pipe for the next snapshot":   `mkfifo "$R.json.tmp"`,
	"a folder for the next snapshot": `mkdir "$R.json.tmp"`,
	"a pipe for the journal":         `rm -f "$R.journal"; mkfifo "$R.journal"`,
	"a pipe for the lock":            `rm -f "$R.lock"; mkfifo "$R.lock"`,
	"a pipe for the event log":       `rm -f "$R/events.jsonl"; mkfifo "$R/events.jsonl"`,
	"a pipe for the payload":         `mkfifo "$R/payload/2"`,
	"a pipe for the next script":     `chmod -R u+w "$R/scope"; rm -f "$R/scope/NEXT.sh"; mkfifo "$R/scope/NEXT.sh"`,
	"pipes for the debug folder":     `for n in 2 3 4; do d="$D/000${n}_main_NEXT.sh_1"; mkdir -p "$d"; for f in result.json command.json stdout.txt stderr.txt; do mkfifo "$d/$f"; done; done`,
	"a pipe for this state's result": `for d in "$D"/0001*; do mkfifo "$d/result.json"; done`,
	"a log of terabytes":             `truncate -s 4T "$R/events.jsonl"`,
}

// TestWhatAScriptPlantsHoldsUpNothing starts runs in whose folders something was planted:
// each comes to an end or ends on a signal.
func TestWhatAScriptPlantsHoldsUpNothing(t *testing.T) {
	t.Parallel()
	for name, plant := range plants {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plant = strings.ReplaceAll(plant, "mkfifo", "mkfifo -m 600")
			s := newSite(t, strings.ReplaceAll(fmt.Sprintf(planting, plant), "RUN", sitetest.RunID))
			s.Tampered = "its first state plants things in the place of them"
			j := s.Start(s.RunArgs("--debug-dir", s.File("debug"))...)
			j.Until("the second state, or the end", func() bool { return sitetest.Exists(s.File("came")) || j.HasEnded() })
			_ = j.Cmd.Process.Signal(syscall.SIGINT) // it may have ended
			if o := j.Wait(); o.Code == 0 || o.Code == -1 {
				t.Errorf("got %v, want a run that was cancelled or refused", o)
			}
		})
	}
}
