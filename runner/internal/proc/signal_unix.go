//go:build unix

package proc

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// signalChild sends a signal to a child that has not been collected yet, so that
// neither its id nor that of its group can belong to another. What is gone
// already needs no signal: errors mean nothing here.
func signalChild(p *os.Process, sig syscall.Signal, group bool) {
	if group || sig == syscall.SIGKILL {
		_ = syscall.Kill(-p.Pid, sig)
		return
	}
	_ = p.Signal(sig)
}

// signalName returns the name of the signal that ended a process, "" when it
// exited.
func signalName(s *os.ProcessState) string {
	status, ok := s.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() {
		return ""
	}
	if name := unix.SignalName(status.Signal()); name != "" {
		return name
	}
	return status.Signal().String()
}

// SignalNumber is the number of the signal that ended the child, 0 without one.
func (e Exit) SignalNumber() int { return int(unix.SignalNum(e.Signal)) }
