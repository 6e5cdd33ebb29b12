//go:build !linux

package cage

// Resolve resolves the symbolic links in a path. It returns "" if the path is relative or doesn't exist.
func Resolve(path string) string { return evalSymlinks(path) }
