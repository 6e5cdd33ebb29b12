package entry

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// keptCapabilities are the capabilities that agents need when they work as root, for example in a container.
// Some of the others would let root escape from the cage. CAP_PERFMON, for example, lets a process read the
// memory of other programs.
const keptCapabilities = 1<<unix.CAP_CHOWN | 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_FOWNER | 1<<unix.CAP_FSETID | 1<<unix.CAP_KILL |
	1<<unix.CAP_SETGID | 1<<unix.CAP_SETUID | 1<<unix.CAP_NET_BIND_SERVICE | 1<<unix.CAP_SETFCAP | 1<<unix.CAP_AUDIT_WRITE |
	1<<unix.CAP_IPC_LOCK | 1<<unix.CAP_IPC_OWNER | 1<<unix.CAP_LEASE

// dropCapabilities removes all capabilities except keptCapabilities from the thread, permanently.
func dropCapabilities() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var sets [2]unix.CapUserData
	if err := unix.Capget(&header, &sets[0]); err != nil {
		return os.NewSyscallError("capget", err)
	}
	if sets[0].Permitted == 0 && sets[1].Permitted == 0 {
		// no_new_privs, which is set already, prevents the thread from gaining capabilities.
		return nil
	}
	for c := uintptr(0); c < 64; c++ {
		if keptCapabilities&(1<<c) != 0 {
			continue
		}
		// EINVAL means that the kernel has no capability with this or a higher number. EPERM means that the
		// thread lacks CAP_SETPCAP. Root then still can't regain capabilities by executing a program, because
		// no_new_privs is set.
		err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
		if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EPERM) {
			break
		}
		if err != nil {
			return os.NewSyscallError("prctl PR_CAPBSET_DROP", err)
		}
	}
	for i := range sets {
		mask := uint32(uint64(keptCapabilities) >> (32 * i)) //nolint:gosec // the low 32 bits, then the high ones
		sets[i].Permitted &= mask
		sets[i].Effective &= mask
		sets[i].Inheritable &= mask
	}
	return os.NewSyscallError("capset", unix.Capset(&header, &sets[0]))
}
