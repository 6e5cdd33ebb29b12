package processes

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
)

// TestUnendableProcessesAreReported checks that End returns processes that it can't end: a process that may
// not be signalled, for example a process of another user, and a process that ignores signals, for example
// because it hangs in the kernel.
func TestUnendableProcessesAreReported(t *testing.T) {
	cmd := exec.Command("sleep", "300")
	assert.NilError(t, cmd.Start())
	for what, answer := range map[string]error{"refuses": syscall.EPERM, "hangs": nil} {
		r := reaper{find: descendants, patience: 50 * time.Millisecond, signal: func(*os.Process, os.Signal) error { return answer }}
		_, left := r.end()
		assert.Check(t, is.Contains(describe(left), fmt.Sprintf("%d (sleep 300)", cmd.Process.Pid)), what)
	}
	assert.Check(t, is.Len(EndDescendants(), 0), "processes that obey signals, but were not ended")
	_ = cmd.Wait()
}

// TestZombieIsDead checks that a process counts as dead even before its parent collects it.
func TestZombieIsDead(t *testing.T) {
	cmd := exec.Command("sleep", "300")
	assert.NilError(t, cmd.Start())
	pid := cmd.Process.Pid
	assert.Check(t, !IsDead(pid), "while it runs: got dead")
	_ = cmd.Process.Kill()
	for unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
		continue // wait until the process has ended
	}
	assert.Check(t, IsDead(pid), "before it is collected: got alive")
	_ = cmd.Wait()
	assert.Check(t, IsDead(pid), "after that: got alive")
}
