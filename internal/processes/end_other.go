//go:build !linux

package processes

// EndDescendants does nothing: only Linux tells what descends from a process.
func EndDescendants() []string { return nil }

// Ancestors returns nothing: only Linux tells them.
func Ancestors() []int { return nil }

// IsDead reports nothing: only Linux tells of a process that has ended and isn't collected.
func IsDead(int) bool { return false }
