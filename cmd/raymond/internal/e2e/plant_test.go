package e2e

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
)

// plantWorkflow is a workflow whose first state runs a given command in the run's own folders, and whose second
// state writes a line to show that the run has reached it.
const plantWorkflow = `
-- 1_START.sh --
R="$PWD/.raymond/state/RUN" D="$PWD/debug"
%s
echo "<goto>NEXT.sh</goto>"
-- NEXT.sh --
touch came
if [ -e go ]; then echo "<result>done</result>"; exit; fi
echo "<goto>NEXT.sh</goto>"
`

// obstacles are commands that put obstacles where the run writes next. One obstacle is a named pipe: without a
// reader, opening the pipe for writing would block forever.
var obstacles = map[string]string{
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

// TestPlantedFilesDoNotBlockRuns shows that a run with such obstacles in its folders never blocks: it stops with an
// error, or reaches its second state and ends on a signal.
func TestPlantedFilesDoNotBlockRuns(t *testing.T) {
	t.Parallel()
	for name, plant := range obstacles {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plant = strings.ReplaceAll(plant, "mkfifo", "mkfifo -m 600")
			s := newSite(t, strings.ReplaceAll(fmt.Sprintf(plantWorkflow, plant), "RUN", sitetest.RunID))
			s.Tampered = "its first state plants things in the place of them"
			j := s.Start(s.RunArgs("--debug-dir", s.File("debug"))...)
			j.Until("the second state, or the end", func() bool { return sitetest.Exists(s.File("came")) || j.HasEnded() })
			_ = j.Cmd.Process.Signal(syscall.SIGINT) // fails if it has already ended
			if o := j.Wait(); o.Code == 0 || o.Code == -1 {
				t.Errorf("got %v, want a run that was cancelled or refused", o)
			}
		})
	}
}
