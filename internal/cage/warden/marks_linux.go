package warden

import "golang.org/x/sys/unix"

// carries reports whether a process or thread belongs to the cage with this mark.
func carries(process int, mark uint64) bool {
	var limit unix.Rlimit
	err := unix.Prlimit(process, unix.RLIMIT_RTTIME, nil, &limit)
	return err == nil && limit.Cur == mark && limit.Max == mark
}

// mayChange reports whether the process that a call wants to change, by its limits,
// priority or scheduling, is one of the cage. Reading limits is always allowed.
func mayChange(c call, mark uint64) bool {
	target := int(int32(c.args[0]))
	switch c.number {
	case unix.SYS_PRLIMIT64:
		switch isReading := c.args[2] == 0; {
		case isReading:
			return true
		case int32(c.args[1]) == unix.RLIMIT_RTTIME:
			return false // the mark itself
		}
	case unix.SYS_SETPRIORITY:
		if which := int32(c.args[0]); which != unix.PRIO_PROCESS {
			return which == unix.PRIO_PGRP && int32(c.args[1]) == 0
		}
		target = int(int32(c.args[1]))
	}
	return target == 0 || target > 0 && carries(target, mark)
}
