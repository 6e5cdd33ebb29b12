package warden

import "golang.org/x/sys/unix"

// listen lets a caged process listen, at addresses of the network for loopback alone: the
// socket takes what comes in by that device, whatever its address. So servers that listen
// everywhere go on, for the cage and the machine that it is on.
func (w *warden) listen(c call) unix.Errno {
	s, err := c.socket()
	if err != nil {
		return errnoOf(err)
	}
	defer unix.Close(s.fd)
	switch {
	case !c.isValid(w.listener):
		return unix.EINTR // Nobody hears it.
	case s.domain != unix.AF_UNIX && !isOnLoopback(s.fd):
		return unix.EACCES
	}
	if err := unix.Listen(s.fd, int(int32(c.args[1]))); err != nil {
		return errnoOf(err)
	}
	w.knows(s.fd)
	return 0
}

// isOnLoopback binds a socket to the device of loopback, for good, and reports whether it is.
func isOnLoopback(fd int) bool {
	const loopback = "lo"
	err := unix.BindToDevice(fd, loopback)
	if err == nil {
		return true
	}
	bound, err := unix.GetsockoptString(fd, unix.SOL_SOCKET, unix.SO_BINDTODEVICE)
	return err == nil && bound == loopback // since an earlier call
}
