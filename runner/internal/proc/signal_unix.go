//go:build unix

package proc

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// signalName returns the name of the signal that ended a process, "" when it
// exited.
func signalName(status syscall.WaitStatus) string {
	if !status.Signaled() {
		return ""
	}
	if name := unix.SignalName(status.Signal()); name != "" {
		return name
	}
	return status.Signal().String()
}

// SignalNumber is the number of the signal that ended the child, 0 without one.
func (e Exit) SignalNumber() int { return int(unix.SignalNum(e.Signal)) }
