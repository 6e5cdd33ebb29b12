//go:build unix

package workspace

import (
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// group has a program end with all that it starts, such as what git runs for the
// network.
func group(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

func isWritable(path string) bool { return unix.Access(path, unix.W_OK) == nil }
