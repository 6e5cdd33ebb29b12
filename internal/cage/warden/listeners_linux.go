package warden

import (
	"net/netip"

	"golang.org/x/sys/unix"
)

// owner is the kind of processes that listen on an address.
type owner int

const (
	ownerOutside owner = iota // also processes outside of the cage, or unknown; the zero value, so that connects are refused
	ownerCage                 // only processes of the cage
	ownerNone
)

// listenerOwner returns who owns the listening sockets that isMeant selects. The caller holds the lock. If
// the kernel can't list the sockets, the result is ownerOutside and an error.
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

// maxListening bounds how many sockets are remembered. If a cage listens on more, it can't connect to
// the earlier ones any more.
const maxListening = 1 << 16

// rememberListener remembers the socket with which a process of the cage now listens. It searches by
// the inode of the file, since listening on an MPTCP socket makes another socket of the same file
// listen. The caller holds the lock.
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
