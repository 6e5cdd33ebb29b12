package proc

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// awaitParent returns when the parent of this process has ended.
func awaitParent(parent int) {
	fd, err := unix.PidfdOpen(parent, 0)
	if err != nil || os.Getppid() != parent { // an old kernel; or it has ended, and the number may be another's
		pollParent(parent)
		return
	}
	defer unix.Close(fd)
	poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	for {
		if _, err := unix.Poll(poll, -1); err == nil {
			return
		} else if !errors.Is(err, unix.EINTR) {
			pollParent(parent)
			return
		}
	}
}
