//go:build !linux

package cage

// Resolve returns a path without links; "" where it leads nowhere.
func Resolve(path string) string { return evaluated(path) }
