package warden

import (
	"net/netip"

	"golang.org/x/sys/unix"
)

// listeners says who listens at an address.
type listeners int

const (
	nobody listeners = iota
	caged            // sockets that processes of the cage have made listen, and no others
	others           // another one, or it can't be told
)

// whoListens looks who listens at a port of 127.0.0.1 or ::1 right now. All other
// addresses are others'.
func (w *warden) whoListens(target netip.AddrPort) listeners {
	if target.Addr() != loopback4 && target.Addr() != loopback6 {
		return others
	}
	all, err := listeningAt(target.Port())
	if err != nil { // a kernel that doesn't tell: such a port has to be listed
		return others
	}
	who := nobody
	w.lock.Lock()
	defer w.lock.Unlock()
	for _, l := range all {
		switch {
		case !reaches(target, l.local):
		case !w.listens[l.cookie]:
			return others
		default:
			who = caged
		}
	}
	return who
}

// mostListening is how many sockets are known to listen. A cage that makes more listen can't reach the earlier ones.
const mostListening = 1 << 16

// knows notes a socket that the cage has made listen. It is looked for among those of its file, since a socket of MPTCP has
// another one listen.
func (w *warden) knows(fd int) {
	var file unix.Stat_t
	if unix.Fstat(fd, &file) != nil {
		return
	}
	all, _ := listeningAt(anyPort)
	w.lock.Lock()
	defer w.lock.Unlock()
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
