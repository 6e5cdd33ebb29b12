package cage

import "golang.org/x/sys/unix"

const arch = unix.AUDIT_ARCH_X86_64

// ofArch are calls that only this architecture has.
func ofArch() []rule {
	return refused(uint32(unix.EPERM), unix.SYS_IOPERM, unix.SYS_IOPL)
}
