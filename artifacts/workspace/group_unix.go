//go:build unix

package workspace

import (
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// killGroup makes cmd.Cancel kill the program and everything that it started, for example git's network
// helpers.
func killGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

// isWritable reports whether this user may write to a file or directory.
func isWritable(path string) bool { return unix.Access(path, unix.W_OK) == nil }
