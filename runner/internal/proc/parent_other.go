//go:build !linux

package proc

// awaitParent returns when the parent of this process has ended.
func awaitParent(parent int) { pollParent(parent) }
