package warden

import (
	"encoding/binary"
	"net/netip"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/raymond-action/raymond-action/internal/cage/forward"
)

// Sizes in bytes of struct sockaddr_in, and of the shortest struct sockaddr_in6 that the kernel accepts.
const (
	sizeIPv4 = 16
	sizeIPv6 = 24
)

// ipTarget checks whether a socket may connect to an address. It returns the address for the warden's
// connect call, or the errno for the caller if the connection is denied. Under a restricted network, it
// replaces the unspecified address (0.0.0.0 or ::), which means this machine, with the loopback address.
func (w *warden) ipTarget(s socket, address []byte) ([]byte, unix.Errno) {
	family, target := parseIP(address)
	switch {
	case w.rules.IsOpen && s.kind == unix.SOCK_STREAM && isMetadata(target):
		return nil, w.refuse(target.String(), unix.EACCES)
	case w.rules.IsOpen:
		return address, 0
	case family == unix.AF_UNSPEC && s.kind == unix.SOCK_STREAM:
		return address, 0 // AF_UNSPEC disconnects the socket or does nothing
	case !target.IsValid():
		return nil, unix.EINVAL
	case s.kind != unix.SOCK_STREAM || s.protocol != unix.IPPROTO_TCP:
		return nil, w.refuse(target.String(), unix.EACCES)
	}
	target = toLoopback(target, address)
	if target.Addr() == loopback4 && slices.Contains(w.rules.Ports, target.Port()) {
		return address, 0
	}
	w.lock.Lock()
	who, _ := w.listenerOwner(ipFamilies, target.Port(), func(l listener) bool { return reaches(target, l.local) })
	w.lock.Unlock()
	switch {
	case target.Addr() != loopback4 && target.Addr() != loopback6 || who == ownerOutside:
		return nil, w.refuse(target.String(), unix.EACCES)
	case who == ownerNone:
		return nil, unix.ECONNREFUSED
	}
	return address, 0
}

// toLoopback replaces the unspecified address with the loopback address, both in the result and in
// address. The kernel then connects to exactly the address about which the warden decides.
func toLoopback(target netip.AddrPort, address []byte) netip.AddrPort {
	switch target.Addr() {
	case netip.IPv4Unspecified():
		copy(address[4:], []byte{127, 0, 0, 1})
		return netip.AddrPortFrom(loopback4, target.Port())
	case netip.IPv6Unspecified():
		address[8+15] = 1
		return netip.AddrPortFrom(loopback6, target.Port())
	}
	return target
}

var loopback4, loopback6 = netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()

// isMetadata reports whether an address may belong to a cloud's metadata service. Some clouds run their name
// server at the same address, so on port 53, isMetadata returns true only for link-local addresses.
func isMetadata(at netip.AddrPort) bool {
	const nameServer = 53
	return forward.IsMetadata(at.Addr()) && (at.Port() != nameServer || at.Addr().IsLinkLocalUnicast())
}

// parseIP parses a socket address in the same way as the kernel. It converts an IPv4 address that is
// mapped into IPv6 to an IPv4 address. The target is invalid if the address is too short or belongs to
// another family.
func parseIP(address []byte) (family int, target netip.AddrPort) {
	if len(address) < 2 {
		return -1, target
	}
	family = int(binary.NativeEndian.Uint16(address))
	switch {
	case family == unix.AF_INET && len(address) >= sizeIPv4:
		target = netip.AddrPortFrom(netip.AddrFrom4([4]byte(address[4:8])), binary.BigEndian.Uint16(address[2:]))
	case family == unix.AF_INET6 && len(address) >= sizeIPv6:
		target = netip.AddrPortFrom(netip.AddrFrom16([16]byte(address[8:24])).Unmap(), binary.BigEndian.Uint16(address[2:]))
	}
	return family, target
}
