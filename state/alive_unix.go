//go:build !windows

package state

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"syscall"
)

// isAlive reports whether a process of this machine is not known to have ended.
// One that has ended and waits to be collected by its parent drives nothing.
func isAlive(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true // not Linux, or not ours to see
	}
	// The name before the state may hold blanks and brackets.
	after := bytes.TrimLeft(stat[bytes.LastIndexByte(stat, ')')+1:], " ")
	return len(after) == 0 || after[0] != 'Z' && after[0] != 'X'
}
