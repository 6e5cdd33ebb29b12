//go:build unix

package proc

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// signalName returns the name of the signal that ended a process. It returns "" if the process exited.
func signalName(status syscall.WaitStatus) string {
	if !status.Signaled() {
		return ""
	}
	if name := unix.SignalName(status.Signal()); name != "" {
		return name
	}
	return status.Signal().String()
}

// SignalNumber returns the number of the signal that ended the child. It returns 0 if the child exited.
func (e Exit) SignalNumber() int { return int(unix.SignalNum(e.Signal)) }
