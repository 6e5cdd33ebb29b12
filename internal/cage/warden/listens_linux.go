package warden

import (
	"net/netip"

	"golang.org/x/sys/unix"
)

// listeners says who listens at an address.
type listeners int

const (
	others listeners = iota // a socket that the cage has not made listen, or it can't be told
	caged                   // sockets that processes of the cage have made listen, and no others
	nobody
)

// whoListens reports who owns the listening sockets that isMeant selects. The caller holds the lock. If the kernel can't list
// sockets, it returns an error.
func (w *warden) whoListens(families []byte, port uint16, isMeant func(listener) bool) (listeners, error) {
	all, err := listening(families, port)
	if err != nil {
		return others, err
	}
	who := nobody
	for _, l := range all {
		switch {
		case !isMeant(l):
		case !w.listens[l.cookie]:
			return others, nil
		default:
			who = caged
		}
	}
	return who, nil
}

// mostListening is how many sockets are known to listen. A cage that makes more listen can't reach the earlier ones.
const mostListening = 1 << 16

// knows notes a socket that the cage has made listen. It is looked for among those of its file, since a socket of MPTCP has
// another one listen. The caller holds the lock.
func (w *warden) knows(fd int, families []byte) {
	var file unix.Stat_t
	if unix.Fstat(fd, &file) != nil {
		return
	}
	all, _ := listening(families, anyPort)
	for _, l := range all {
		if uint64(l.inode) != file.Ino {
			continue
		}
		if w.listens == nil || len(w.listens) >= mostListening {
			w.listens = map[uint64]bool{}
		}
		w.listens[l.cookie] = true
	}
}

// reaches reports whether a connection to the target can end at a socket that
// listens at the local address. One at :: may take connections over IPv4, too.
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
