//go:build unix

package proc

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// tellsReader says that the system tells whether an output has a reader.
const tellsReader = true

// hasReader reports whether somebody holds the other end of a pipe or a terminal.
// A file always has one.
func hasReader(out *os.File) bool {
	raw, err := out.SyscallConn()
	if err != nil {
		return true
	}
	has := true
	_ = raw.Control(func(fd uintptr) {
		poll := []unix.PollFd{{Fd: int32(fd)}}
		_, err := unix.Poll(poll, 0)
		has = err != nil && !errors.Is(err, unix.EBADF) || poll[0].Revents&(unix.POLLERR|unix.POLLHUP|unix.POLLNVAL) == 0
	})
	return has
}
