package warden

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// listen decides about a listen call. If the call is allowed, it calls listen for the caller's socket
// itself.
//
// Unless the network is open, it binds the socket to the loopback device before that. No other machine
// can then reach the socket, whatever its address is. A server that listens on all addresses still works
// for clients in the cage and on this machine.
//
// If a process outside of the cage listens on the same port, the port is considered in use at every
// address. Otherwise the caged server could receive some of that process's clients: through
// SO_REUSEPORT, or because it listens on the other address of localhost.
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
	// The lock is held until the socket has been remembered, so that no connect is decided before that.
	w.lock.Lock()
	defer w.lock.Unlock()
	who, listErr := w.listenerOwner(families, uint16(port), func(listener) bool { return port != 0 })
	switch {
	case !c.isValid(w.listener):
		return unix.EINTR // the caller was killed and gets no result
	case s.domain != unix.AF_UNIX && !w.rules.IsOpen && !isOnLoopback(s.fd):
		return unix.EACCES
	case who == ownerOutside && listErr == nil:
		return unix.EADDRINUSE
	}
	if err := unix.Listen(s.fd, int(int32(c.args[1]))); err != nil {
		return errnoOf(err)
	}
	w.rememberListener(s.fd, families)
	return 0
}

// isOnLoopback binds a socket to the loopback device permanently. It reports whether the socket is then
// bound to that device, which is false if it was bound to another device before.
func isOnLoopback(fd int) bool {
	_ = unix.BindToDevice(fd, "lo") // fails if the socket is bound already
	device, _ := unix.GetsockoptString(fd, unix.SOL_SOCKET, unix.SO_BINDTODEVICE)
	return device == "lo"
}

// setReuse executes a setsockopt call for SO_REUSEADDR or SO_REUSEPORT. It ignores the call for a
// datagram socket, because these options would let the socket receive the packets of another socket on
// the same port.
func (w *warden) setReuse(c call) unix.Errno {
	s, err := c.socket()
	if err != nil {
		return errnoOf(err)
	}
	defer unix.Close(s.fd)
	value, err := c.read(c.args[3], 4)
	switch {
	case !c.isValid(w.listener):
		return unix.EINTR // the caller was killed and gets no result
	case err == nil && s.kind != unix.SOCK_DGRAM:
		err = unix.SetsockoptInt(s.fd, unix.SOL_SOCKET, int(int32(c.args[2])), int(int32(binary.NativeEndian.Uint32(value))))
	}
	if err != nil {
		return errnoOf(err)
	}
	return 0
}
