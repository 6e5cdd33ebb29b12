//go:build unix

package proc

import (
	"os"

	"golang.org/x/sys/unix"
)

// hasReader reports whether another process has opened the other end of a pipe or terminal. It returns
// true for a file and for an output that is closed.
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

// isLost reports whether the events that poll returned mean that an output has no reader. POLLNVAL
// doesn't: macOS reports it for devices such as /dev/null. Other systems report it for closed files, but
// hasReader only polls open ones.
func isLost(revents int16) bool { return revents&(unix.POLLERR|unix.POLLHUP) != 0 }
