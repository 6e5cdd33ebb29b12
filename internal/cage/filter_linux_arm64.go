package cage

import "golang.org/x/sys/unix"

const arch = unix.AUDIT_ARCH_AARCH64

// archRules returns the rules for calls that only this architecture has.
func archRules() []rule { return nil }
