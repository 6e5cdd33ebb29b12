//go:build unix

package proc

import (
	"os"

	"golang.org/x/sys/unix"
)

// hasReader reports whether somebody holds the other end of a pipe or a terminal.
// A file always has one, and so has what isn't there.
func hasReader(out *os.File) bool {
	raw, err := out.SyscallConn()
	if err != nil {
		return true
	}
	has := true
	_ = raw.Control(func(fd uintptr) {
		poll := []unix.PollFd{{Fd: int32(fd)}}
		_, err := unix.Poll(poll, 0)
		has = err != nil || !isLost(poll[0].Revents)
	})
	return has
}

// isLost says whether what poll tells of an output means that nobody reads it. POLLNVAL
// doesn't: macOS tells it of devices, as /dev/null, and files of Go are open.
func isLost(revents int16) bool { return revents&(unix.POLLERR|unix.POLLHUP) != 0 }
