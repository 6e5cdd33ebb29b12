//go:build unix

package confine

import "syscall"

// The access modes for canAccess.
const (
	toRead  = 4
	toWrite = 2
)

// canAccess reports whether this user may access a file or a directory. how is toRead or toWrite.
func canAccess(path string, how uint32) bool { return syscall.Access(path, how) == nil }
