//go:build !linux

package processes

// EndDescendants does nothing: only Linux lists the descendants of a process.
func EndDescendants() []string { return nil }

// Ancestors returns nil: only Linux lists the ancestors of a process.
func Ancestors() []int { return nil }

// IsDead returns false: only Linux shows processes that have ended and are not collected.
func IsDead(int) bool { return false }
