//go:build !windows

package transcript

import "syscall"

const homeVar = "HOME"

// dontWait makes the opening of a pipe that has taken a file's place return at once.
const dontWait = syscall.O_NONBLOCK
