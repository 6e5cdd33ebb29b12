package forward

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"syscall"
)

// restricted lists blocks of special addresses. A program can connect to an address in these blocks only if
// the list of hosts contains exactly that address. The same applies to private, link-local, loopback and
// multicast addresses, which kindOf recognizes without this table.
var restricted = []struct{ prefix, is string }{
	{"0.0.0.0/8", "an address of this machine"},
	{"100.64.0.0/10", "a private address"}, // carrier-grade NAT, and some clouds' metadata
	{"168.63.129.16/32", "a metadata address"},
	{"192.0.0.0/24", "a metadata address"},
	{"192.0.2.0/24", "a reserved address"},
	{"192.88.99.0/24", "a reserved address"},
	{"198.18.0.0/15", "a private address"},
	{"198.51.100.0/24", "a reserved address"},
	{"203.0.113.0/24", "a reserved address"},
	{"240.0.0.0/4", "a reserved address"},
	{"100::/64", "a reserved address"},
	{"2001:db8::/32", "a reserved address"},
	{"5f00::/16", "a private address"},
	{"fec0::/10", "a private address"},
}

// restrictedPrefixes are the parsed prefixes in restricted, in the same order.
var restrictedPrefixes = func() (prefixes []netip.Prefix) {
	for _, k := range restricted {
		prefixes = append(prefixes, netip.MustParsePrefix(k.prefix))
	}
	return prefixes
}()

// embeddings are the IPv6 prefixes whose addresses contain an IPv4 address to which the packets may go,
// and the indexes of its bytes. Without this table, an agent could reach the metadata service at
// 169.254.169.254 through an IPv6 address.
var embeddings = []struct {
	prefix netip.Prefix
	at     [4]int
	mask   byte // is XORed with each byte
}{
	{netip.MustParsePrefix("::/96"), [4]int{12, 13, 14, 15}, 0},
	{netip.MustParsePrefix("::ffff:0:0:0/96"), [4]int{12, 13, 14, 15}, 0},  // IPv4-translated
	{netip.MustParsePrefix("64:ff9b::/96"), [4]int{12, 13, 14, 15}, 0},     // NAT64
	{netip.MustParsePrefix("64:ff9b:1::/48"), [4]int{12, 13, 14, 15}, 0},   // NAT64 with a local prefix of 96 bits
	{netip.MustParsePrefix("64:ff9b:1::/48"), [4]int{9, 10, 11, 12}, 0},    // NAT64 with a local prefix of 64 bits
	{netip.MustParsePrefix("64:ff9b:1::/48"), [4]int{7, 9, 10, 11}, 0},     // NAT64 with a local prefix of 56 bits
	{netip.MustParsePrefix("64:ff9b:1::/48"), [4]int{6, 7, 9, 10}, 0},      // NAT64 with a local prefix of 48 bits
	{netip.MustParsePrefix("2002::/16"), [4]int{2, 3, 4, 5}, 0},            // 6to4
	{netip.MustParsePrefix("2001::/32"), [4]int{12, 13, 14, 15}, ^byte(0)}, // Teredo
}

// effectiveAddrs returns an address and all IPv4 addresses that are embedded in it.
func effectiveAddrs(addr netip.Addr) []netip.Addr {
	addr = addr.Unmap()
	all, bytes := []netip.Addr{addr}, addr.As16()
	for _, e := range embeddings {
		if e.prefix.Contains(addr) {
			all = append(all, netip.AddrFrom4([4]byte{bytes[e.at[0]] ^ e.mask, bytes[e.at[1]] ^ e.mask, bytes[e.at[2]] ^ e.mask, bytes[e.at[3]] ^ e.mask}))
		}
	}
	return all
}

// kindOf describes why an address is special, for example "a private address". It returns "" for a public
// address of another machine.
func kindOf(addr netip.Addr) string {
	for _, addr := range effectiveAddrs(addr) {
		switch i := slices.IndexFunc(restrictedPrefixes, func(p netip.Prefix) bool { return p.Contains(addr) }); {
		case addr.IsLoopback() || addr.IsUnspecified():
			return "an address of this machine"
		case addr.IsLinkLocalUnicast():
			return "a link-local or metadata address"
		case addr.IsPrivate():
			return "a private address"
		case addr.IsMulticast():
			return "a multicast address"
		case i >= 0:
			return restricted[i].is
		case isOwn(addr):
			return "an address of this machine"
		}
	}
	return ""
}

// interfaceAddrs returns the addresses of this machine. Tests replace it.
var interfaceAddrs = net.InterfaceAddrs

// isOwn reports whether a network interface of this machine has the address. If the interfaces can't be
// listed, it returns true, so that access to the address is denied.
func isOwn(addr netip.Addr) bool {
	own, err := interfaceAddrs()
	if err != nil {
		return true // the address may belong to this machine
	}
	return slices.ContainsFunc(own, func(a net.Addr) bool {
		prefix, err := netip.ParsePrefix(a.String())
		return err == nil && prefix.Addr().Unmap().WithZone("") == addr
	})
}

// restrictedError reports that a listed name resolves to a special address that the list doesn't allow.
type restrictedError struct {
	at   target
	kind string
}

// Error implements error.
func (e *restrictedError) Error() string {
	text := fmt.Sprintf("it resolves to %s, %s", e.at.addr, e.kind)
	if IsMetadata(e.at.addr) {
		return text + ", which raymond never connects to"
	}
	return fmt.Sprintf("%s; if that is intended, add %s to the input network too", text, e.at.entryText())
}

// targetKey is the context key of the target to which a request is sent.
type targetKey struct{}

// checkDial is the dialer's ControlContext: it is called with each resolved address, just before the dialer
// connects, and returns an error if the address is not allowed. Therefore a name can't first resolve to a
// public address and later to an internal one (DNS rebinding). If a name is listed with a port, it may be a
// service of the job, so its address may be private.
func (l List) checkDial(ctx context.Context, _, address string, _ syscall.RawConn) error {
	at, ok := parseTarget(address, 0)
	if !ok || !at.addr.IsValid() {
		return fmt.Errorf("unexpected address %q", address)
	}
	kind := kindOf(at.addr)
	meant, _ := ctx.Value(targetKey{}).(target)
	isListed := l.allowsAddr(at.addr, at.port) || at.addr.IsPrivate() && !isOwn(at.addr) && slices.ContainsFunc(l.entries, func(e entry) bool {
		return e.hasPort && !e.isAll && e.host != "" && e.host == meant.host && slices.Contains(e.ports, meant.port)
	})
	if kind == "" || isListed && !IsMetadata(at.addr) {
		return nil
	}
	return &restrictedError{at: at, kind: kind}
}

// metadata are the addresses, except link-local ones, at which clouds serve metadata and credentials.
// The clouds are Alibaba, Azure, Oracle, Amazon (also for credentials of pods), Google and Scaleway.
var metadata = []netip.Addr{
	netip.MustParseAddr("100.100.100.200"), netip.MustParseAddr("168.63.129.16"), netip.MustParseAddr("192.0.0.192"),
	netip.MustParseAddr("fd00:c1::a9fe:a9fe"), netip.MustParseAddr("fd00:ec2::254"), netip.MustParseAddr("fd00:ec2::23"), netip.MustParseAddr("fd20:ce::254"), netip.MustParseAddr("fd00:42::42"),
}

// IsMetadata reports whether packets to an address may reach a cloud's metadata service. This may be the
// case for every link-local address. No list entry allows connections to these addresses.
func IsMetadata(addr netip.Addr) bool {
	return slices.ContainsFunc(effectiveAddrs(addr), func(meant netip.Addr) bool {
		return meant.IsLinkLocalUnicast() || slices.Contains(metadata, meant)
	})
}
