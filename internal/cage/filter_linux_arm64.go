package cage

import "golang.org/x/sys/unix"

const arch = unix.AUDIT_ARCH_AARCH64

// ofArch are calls that only this architecture has.
func ofArch() []rule { return nil }
