package proc

import (
	"os"

	"golang.org/x/sys/unix"
)

// MakeUndumpable keeps other processes of the same user from reading the environment and the memory of
// this process, and from tracing it. Root still can. Children don't inherit this. It exists only on
// Linux; elsewhere it does nothing.
func MakeUndumpable() error {
	return os.NewSyscallError("prctl PR_SET_DUMPABLE", unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0))
}
