//go:build unix

package notes

import "syscall"

// noFollow makes it an error to open a symbolic link, and opens a pipe at once.
const noFollow = syscall.O_NOFOLLOW | syscall.O_NONBLOCK
