package state

// isAlive reports whether a process of this machine is not known to have ended.
func isAlive(int) bool { return true }
