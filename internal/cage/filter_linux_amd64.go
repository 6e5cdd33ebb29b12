package cage

import "golang.org/x/sys/unix"

const arch = unix.AUDIT_ARCH_X86_64

// archRules returns the rules for calls that only this architecture has.
func archRules() []rule {
	return refuseAll(uint32(unix.EPERM), unix.SYS_IOPERM, unix.SYS_IOPL)
}
