//go:build unix

package confine

import "syscall"

// What canAccess is asked about.
const (
	toRead  = 4
	toWrite = 2
)

// canAccess reports whether this user may read or write a file or a folder.
func canAccess(path string, how uint32) bool { return syscall.Access(path, how) == nil }
