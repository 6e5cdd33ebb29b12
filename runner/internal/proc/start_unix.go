//go:build unix && !linux

package proc

import (
	"os"
	"syscall"
)

// asks says that there are signals that ask a process to end.
const asks = true

func (s Options) attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// group is a process group. A process that left it is not found.
type group int

func groupOf(p *os.Process) (group, error) { return group(p.Pid), nil }

func (g group) signal(sig syscall.Signal) error { return syscall.Kill(-int(g), sig) }

// end ends what is left, and returns how many processes that were at least.
func (g group) end() int {
	if g.signal(syscall.SIGKILL) == nil {
		return 1
	}
	return 0
}

func signalOf(s *os.ProcessState) string { return signalName(s.Sys().(syscall.WaitStatus)) }
