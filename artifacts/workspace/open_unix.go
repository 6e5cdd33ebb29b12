//go:build unix

package workspace

import "syscall"

// openFlags keep open from following a link and from waiting for a pipe's writer.
const openFlags = syscall.O_NOFOLLOW | syscall.O_NONBLOCK
