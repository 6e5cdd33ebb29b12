package warden

import "golang.org/x/sys/unix"

// mayChange reports whether a call may change the limits, priority or scheduling of its target, which is a
// process or a thread. The target must be the caller itself or carry the mark of the cage. Reading limits
// is always allowed. The filter itself forbids changes of the mark, and changes for process groups and
// users.
func mayChange(c call, mark uint64) bool {
	target := int(int32(c.args[0]))
	switch {
	case c.number == unix.SYS_PRLIMIT64 && c.args[2] == 0:
		return true
	case c.number == unix.SYS_SETPRIORITY:
		target = int(int32(c.args[1]))
	}
	var limit unix.Rlimit
	err := unix.Prlimit(target, unix.RLIMIT_RTTIME, nil, &limit)
	return target == 0 || err == nil && limit.Cur == mark && limit.Max == mark
}
