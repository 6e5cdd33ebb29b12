//go:build failpoint

package state

import (
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"
)

var (
	killAt, _   = strconv.Atoi(os.Getenv("RAYMOND_KILL_AT_SAVE"))
	cancelAt, _ = strconv.Atoi(os.Getenv("RAYMOND_CANCEL_AT_SAVE"))
	reached     int
)

// failpoint ends the process with SIGKILL when it is reached for the n-th time, n being
// RAYMOND_KILL_AT_SAVE, and sends it SIGINT when n is RAYMOND_CANCEL_AT_SAVE.
func failpoint(string) {
	reached++
	switch reached {
	case killAt:
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	case cancelAt:
		fmt.Fprintln(os.Stderr, "cancelled at", time.Now().UnixNano())
		_ = syscall.Kill(os.Getpid(), syscall.SIGINT)
	}
}

// tearing makes Append write a line in two halves, so that a test can cut it.
const tearing = true
