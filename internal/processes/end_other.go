//go:build !linux

package processes

// EndDescendants does nothing, because this system doesn't list the descendants of a process.
func EndDescendants() []string { return nil }

// Ancestors returns nil, because this system doesn't list the ancestors of a process.
func Ancestors() []int { return nil }

// IsDead returns false, because this system doesn't list processes that have ended and were not collected.
func IsDead(int) bool { return false }
