//go:build linux

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/acttest"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
)

// outliving is a workflow whose script leaves a process in the process group of the
// program and one in a session of its own. Neither has anything in its environment
// or a parent, and neither minds a signal that can be ignored.
const outliving = `-- wf/START.sh --
leave='$SIG{$_} = "IGNORE" for qw(TERM INT HUP); exit if fork; exit if fork; open STDOUT, ">/dev/null"; open STDERR, ">/dev/null";
	exec "/bin/sh", "-c", "while :; do sleep 300; done", $ARGV[0]'
env -i perl -e "setpgrp(0, getpgrp($PPID)); $leave" NAME
env -i setsid perl -e "$leave" NAME
until [ "$(ps -e -o args= | grep -c '[w]hile :; do sleep 300; done NAME')" = 2 ]; do sleep 0.01; done
echo '<result>done</result>'
`

// TestNothingOutlivesTheStep: what lived then could read the secrets of the post part.
func TestNothingOutlivesTheStep(t *testing.T) {
	t.Parallel()
	name := fmt.Sprintf("outliving-%d", time.Now().UnixNano())
	j := newJob(t, sitetest.NewForge(t), acttest.Repository(t, strings.ReplaceAll(outliving, "NAME", name)), 1)
	j.end(j.command("action")).WantOutputs(t, "status", "completed")
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	assert.NilError(t, err)
	for _, line := range lines {
		data, _ := os.ReadFile(line) // of a process that has ended there is none
		if strings.Contains(string(data), name) {
			t.Errorf("%s: %q is alive", line, data)
			if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(line))); err == nil {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	}
}
