package warden

import "golang.org/x/sys/unix"

// carries reports whether a process or thread belongs to the cage with this mark.
func carries(process int, mark uint64) bool {
	var limit unix.Rlimit
	err := unix.Prlimit(process, unix.RLIMIT_RTTIME, nil, &limit)
	return err == nil && limit.Cur == mark && limit.Max == mark
}

// mayChange reports whether the process that a call wants to change, by its limits,
// priority or scheduling, is one of the cage. Reading limits is always allowed. The
// filter refuses changes of the mark, and of groups and users.
func mayChange(c call, mark uint64) bool {
	target := int(int32(c.args[0]))
	switch {
	case c.number == unix.SYS_PRLIMIT64 && c.args[2] == 0:
		return true
	case c.number == unix.SYS_SETPRIORITY:
		target = int(int32(c.args[1]))
	}
	return target == 0 || target > 0 && carries(target, mark)
}
