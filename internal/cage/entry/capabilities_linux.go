package entry

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// kept are the capabilities that work of agents as root needs, in a container say.
// With some of the others root gets around the cage: one who may measure programs may
// read their memory.
const kept = 1<<unix.CAP_CHOWN | 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_FOWNER | 1<<unix.CAP_FSETID | 1<<unix.CAP_KILL |
	1<<unix.CAP_SETGID | 1<<unix.CAP_SETUID | 1<<unix.CAP_NET_BIND_SERVICE | 1<<unix.CAP_SETFCAP | 1<<unix.CAP_AUDIT_WRITE |
	1<<unix.CAP_IPC_LOCK | 1<<unix.CAP_IPC_OWNER | 1<<unix.CAP_LEASE

// dropCapabilities takes from the thread all capabilities but those, for good.
func dropCapabilities() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var sets [2]unix.CapUserData
	if err := unix.Capget(&header, &sets[0]); err != nil {
		return os.NewSyscallError("capget", err)
	}
	if sets[0].Permitted == 0 && sets[1].Permitted == 0 {
		return nil // with no_new_privs there is no way to any
	}
	for c := uintptr(0); c < 64; c++ {
		if kept&(1<<c) != 0 {
			continue
		}
		// Whoever may not do this has a way to none that root would get back.
		err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
		if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EPERM) {
			break
		}
		if err != nil {
			return os.NewSyscallError("prctl PR_CAPBSET_DROP", err)
		}
	}
	for i := range sets {
		mask := uint32(uint64(kept) >> (32 * i)) //nolint:gosec // one half after the other
		sets[i].Permitted &= mask
		sets[i].Effective &= mask
		sets[i].Inheritable &= mask
	}
	return os.NewSyscallError("capset", unix.Capset(&header, &sets[0]))
}
