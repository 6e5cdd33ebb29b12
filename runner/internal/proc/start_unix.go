//go:build unix && !linux

package proc

import (
	"os"
	"syscall"
)

// hasTermSignals is true because this system can send signals that ask a process to exit.
const hasTermSignals = true

// attributes returns the attributes of a child: it gets its own process group.
func (s Options) attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// group is the id of a process group. Processes that have left the group are not found.
type group int

// groupOf returns the process group of a child. attributes has made the child its leader.
func groupOf(p *os.Process) (group, error) { return group(p.Pid), nil }

// signal sends a signal to all processes in the group.
func (g group) signal(sig syscall.Signal) error { return syscall.Kill(-int(g), sig) }

// end kills the remaining processes in the group. It returns 1 if there were any, because their number
// is unknown.
func (g group) end() int {
	if g.signal(syscall.SIGKILL) == nil {
		return 1
	}
	return 0
}

// signalOf returns the name of the signal that ended a process. It returns "" if the process exited.
func signalOf(s *os.ProcessState) string { return signalName(s.Sys().(syscall.WaitStatus)) }
