//go:build unix && !linux

package proc

import (
	"os"
	"syscall"
)

// hasTermSignals is true because this system has signals that ask a process to exit.
const hasTermSignals = true

func (s Options) attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// group is a process group. Processes that have left it are not found.
type group int

func groupOf(p *os.Process) (group, error) { return group(p.Pid), nil }

func (g group) signal(sig syscall.Signal) error { return syscall.Kill(-int(g), sig) }

// end ends the remaining processes and returns how many there were at least.
func (g group) end() int {
	if g.signal(syscall.SIGKILL) == nil {
		return 1
	}
	return 0
}

func signalOf(s *os.ProcessState) string { return signalName(s.Sys().(syscall.WaitStatus)) }
