package warden

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// listen decides about a listen call and executes it if it is allowed. Unless the network is open, it
// first binds the socket to the loopback device, so that no other machine can reach it, whatever its
// address is. Servers that listen on all addresses still work, for the cage and for this machine. A port
// on which a process outside of the cage listens counts as taken, at every address: with SO_REUSEPORT,
// or on the other address of localhost, the caged server would receive some of that process's clients.
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
	w.lock.Lock() // held until the socket is remembered, so that no connect is decided before
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

// isOnLoopback binds a socket to the loopback device, permanently, and reports whether it is bound to it.
func isOnLoopback(fd int) bool {
	_ = unix.BindToDevice(fd, "lo") // an error here may mean that it is bound already
	device, _ := unix.GetsockoptString(fd, unix.SOL_SOCKET, unix.SO_BINDTODEVICE)
	return device == "lo"
}

// setReuse executes a setsockopt of SO_REUSEADDR or SO_REUSEPORT. On a datagram socket it does nothing:
// there, the options would let the socket receive the packets of another socket on the same port.
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
