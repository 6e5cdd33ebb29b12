package warden

import (
	"net/netip"

	"golang.org/x/sys/unix"
)

// owner says whether processes inside or outside of the cage listen on an address.
type owner int

const (
	// ownerOutside means that a process outside of the cage listens, or that the owner is unknown. It is the
	// zero value, so that connections are denied if the owner is not determined.
	ownerOutside owner = iota
	ownerCage          // only processes in the cage listen
	// ownerNone means that no process listens.
	ownerNone
)

// listenerOwner returns the owner of the listening sockets for which isMeant returns true. If the kernel
// can't list the sockets, it returns ownerOutside and an error. The caller must hold w.lock.
func (w *warden) listenerOwner(families []byte, port uint16, isMeant func(listener) bool) (owner, error) {
	all, err := listListeners(families, port)
	if err != nil {
		return ownerOutside, err
	}
	who := ownerNone
	for _, l := range all {
		switch {
		case !isMeant(l):
		case !w.listening[l.cookie]:
			return ownerOutside, nil
		default:
			who = ownerCage
		}
	}
	return who, nil
}

// maxListening limits how many sockets are remembered. If a cage listens on more sockets, all earlier
// ones are forgotten, and the cage can't connect to them any more.
const maxListening = 1 << 16

// rememberListener remembers the socket on which a process in the cage now listens. fd is the descriptor
// that the process used. The socket is found by the inode of the descriptor's file, because for MPTCP, the
// listening socket is another socket with the same file. The caller must hold w.lock.
func (w *warden) rememberListener(fd int, families []byte) {
	var file unix.Stat_t
	if unix.Fstat(fd, &file) != nil {
		return
	}
	all, _ := listListeners(families, anyPort)
	for _, l := range all {
		if uint64(l.inode) != file.Ino {
			continue
		}
		if w.listening == nil || len(w.listening) >= maxListening {
			w.listening = map[uint64]bool{}
		}
		w.listening[l.cookie] = true
	}
}

// reaches reports whether a connection to target can arrive at a socket that listens on local. A socket
// that listens on :: may also accept IPv4 connections.
func reaches(target, local netip.AddrPort) bool {
	if target.Port() != local.Port() {
		return false
	}
	switch local.Addr() {
	case target.Addr(), netip.IPv6Unspecified():
		return true
	}
	return target.Addr().Is4() && local.Addr() == netip.IPv4Unspecified()
}
