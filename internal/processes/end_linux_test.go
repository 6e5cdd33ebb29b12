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

// TestWhatCannotBeEndedIsNamed: a process with other rights refuses every signal, one that hangs in the
// kernel heeds none.
func TestWhatCannotBeEndedIsNamed(t *testing.T) {
	cmd := exec.Command("sleep", "300")
	assert.NilError(t, cmd.Start())
	for what, answer := range map[string]error{"refuses": syscall.EPERM, "hangs": nil} {
		h := hunt{find: descendants, patience: 50 * time.Millisecond, signal: func(*os.Process, os.Signal) error { return answer }}
		_, left := h.end()
		assert.Check(t, is.Contains(named(left), fmt.Sprintf("%d (sleep 300)", cmd.Process.Pid)), what)
	}
	assert.Check(t, is.Len(EndDescendants(), 0), "left of what heeds signals")
	_ = cmd.Wait()
}

// TestWhoWaitsToBeCollectedIsDead: its parent may take its time.
func TestWhoWaitsToBeCollectedIsDead(t *testing.T) {
	cmd := exec.Command("sleep", "300")
	assert.NilError(t, cmd.Start())
	pid := cmd.Process.Pid
	assert.Check(t, !IsDead(pid), "while it runs: got dead")
	_ = cmd.Process.Kill()
	for unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
		continue // until it has ended
	}
	assert.Check(t, IsDead(pid), "before it is collected: got alive")
	_ = cmd.Wait()
	assert.Check(t, IsDead(pid), "after that: got alive")
}
