package proc

import (
	"os"

	"golang.org/x/sys/unix"
)

// MakeUndumpable prevents other processes of the same user from reading the environment and the memory
// of this process, and from tracing it. Root can still do that. Child processes don't inherit the
// protection. On systems other than Linux, MakeUndumpable does nothing.
func MakeUndumpable() error {
	return os.NewSyscallError("prctl PR_SET_DUMPABLE", unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0))
}
