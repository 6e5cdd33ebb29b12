//go:build unix

package files

import "syscall"

const (
	// dontFollow is the flag that makes opening a symbolic link an error.
	dontFollow = syscall.O_NOFOLLOW
	// dontWait is the flag that makes opening a pipe return immediately.
	dontWait = syscall.O_NONBLOCK
)
