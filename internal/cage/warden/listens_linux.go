package warden

import "net/netip"

// listeners says who listens at an address.
type listeners int

const (
	nobody listeners = iota
	caged            // processes of the cage, and nobody else
	others           // somebody else, or who can't be told
)

// whoListens looks who listens at a port of 127.0.0.1 or ::1 right now. All other
// addresses are others'.
func whoListens(target netip.AddrPort, h *holders) listeners {
	if target.Addr() != loopback4 && target.Addr() != loopback6 {
		return others
	}
	all, err := listeningAt(target.Port())
	if err != nil { // a kernel that doesn't tell: such a port has to be listed
		return others
	}
	wanted := map[string]bool{}
	for _, l := range all {
		if reaches(target, l.local) {
			wanted[l.socket] = true
		}
	}
	switch {
	case len(wanted) == 0:
		return nobody
	case h.haveAll(wanted):
		return caged
	}
	return others
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
