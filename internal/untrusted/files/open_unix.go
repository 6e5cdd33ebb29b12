//go:build unix

package files

import "syscall"

const (
	// dontFollow makes it an error to open a symbolic link.
	dontFollow = syscall.O_NOFOLLOW
	// dontWait makes the opening of a pipe return at once.
	dontWait = syscall.O_NONBLOCK
)
