//go:build !linux

package sitetest

// Processes returns nothing on systems that don't show the environment of processes.
func (s *Site) Processes() []int { return nil }

// KillAll does nothing on these systems.
func (s *Site) KillAll(...*Command) {}

// Describe returns an empty string on these systems.
func Describe([]int) string { return "" }
