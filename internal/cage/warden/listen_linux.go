package warden

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// listen lets a caged process listen. Unless the network is open, the socket takes what comes in
// by loopback's device alone, whatever its address. So servers that listen everywhere go on, for
// the cage and the machine that it is on. A port at which a process outside of the cage listens is
// taken, at any address: with SO_REUSEPORT, or at the other address of localhost, the two would
// share clients.
func (w *warden) listen(c call) unix.Errno {
	s, err := c.socket()
	if err != nil {
		return errnoOf(err)
	}
	defer unix.Close(s.fd)
	families, port := ipFamilies, 0
	switch at, _ := unix.Getsockname(s.fd); at := at.(type) {
	case *unix.SockaddrUnix:
		families = unixFamilies
	case *unix.SockaddrInet4:
		port = at.Port
	case *unix.SockaddrInet6:
		port = at.Port
	}
	w.lock.Lock() // until the socket is known, no connect looks for it
	defer w.lock.Unlock()
	who, unknown := w.whoListens(families, uint16(port), func(listener) bool { return port != 0 })
	switch {
	case !c.isValid(w.listener):
		return unix.EINTR // Nobody hears it.
	case s.domain != unix.AF_UNIX && !w.rules.IsOpen && !isOnLoopback(s.fd):
		return unix.EACCES
	case who == others && unknown == nil:
		return unix.EADDRINUSE
	}
	if err := unix.Listen(s.fd, int(int32(c.args[1]))); err != nil {
		return errnoOf(err)
	}
	w.knows(s.fd, families)
	return 0
}

// isOnLoopback binds a socket to the device of loopback, for good, and reports whether it is.
func isOnLoopback(fd int) bool {
	_ = unix.BindToDevice(fd, "lo") // It may be bound already.
	device, _ := unix.GetsockoptString(fd, unix.SOL_SOCKET, unix.SO_BINDTODEVICE)
	return device == "lo"
}

// share sets SO_REUSEADDR or SO_REUSEPORT. On a datagram socket both do nothing: there they would
// let it take the packets of another one at its port.
func (w *warden) share(c call) unix.Errno {
	s, err := c.socket()
	if err != nil {
		return errnoOf(err)
	}
	defer unix.Close(s.fd)
	value, err := c.read(c.args[3], 4)
	switch {
	case !c.isValid(w.listener):
		return unix.EINTR // Nobody hears it.
	case err == nil && s.kind != unix.SOCK_DGRAM:
		err = unix.SetsockoptInt(s.fd, unix.SOL_SOCKET, int(int32(c.args[2])), int(int32(binary.NativeEndian.Uint32(value))))
	}
	if err != nil {
		return errnoOf(err)
	}
	return 0
}
