//go:build unix

package checkpoint

import "syscall"

// openFlags make the opening of a pipe or a link that has taken a file's place
// return at once.
const openFlags = syscall.O_NONBLOCK | syscall.O_NOFOLLOW
