package store

import "github.com/raymond-action/raymond-action/artifacts/slots"

// Alive reports whether a process is running. known is false for a process of another machine or
// another process namespace.
func Alive(p slots.Process) (alive, known bool) {
	if here := ThisProcess(); here.Machine == "" || p.Machine != here.Machine {
		return false, false
	}
	return p.Started != "" && startOf(p.PID) == p.Started, true
}
