//go:build !linux

package sitetest

// Processes returns nothing where processes can't be found by their environment.
func (s *Site) Processes() []int { return nil }

// KillAll does nothing there.
func (s *Site) KillAll(...*Command) {}

// Describe has nothing to describe there.
func Describe([]int) string { return "" }
