//go:build failpoint

package state

import (
	"os"
	"strconv"
	"syscall"
)

var (
	failAt, _ = strconv.Atoi(os.Getenv("RAYMOND_KILL_AT_SAVE"))
	failures  int
)

// failpoint ends the process with SIGKILL when it is reached for the n-th time,
// n being RAYMOND_KILL_AT_SAVE.
func failpoint(string) {
	failures++
	if failures == failAt {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
}

// tearing makes Append write a line in two halves, so that a test can cut it.
const tearing = true
