//go:build unix

package confine

import "syscall"

// canWrite reports whether this user may write a file or a folder.
func canWrite(path string) bool {
	const write = 2
	return syscall.Access(path, write) == nil
}
