//go:build unix

package files

import "syscall"

const (
	// dontFollow makes opening a symbolic link an error.
	dontFollow = syscall.O_NOFOLLOW
	// dontWait makes opening a pipe return at once.
	dontWait = syscall.O_NONBLOCK
)
