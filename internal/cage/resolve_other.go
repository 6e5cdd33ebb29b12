//go:build !linux

package cage

// Resolve returns a path without symbolic links; "" if it doesn't exist.
func Resolve(path string) string { return evalSymlinks(path) }
