package forward

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"syscall"
)

// kept are the addresses that only an entry of their own opens, beside private,
// link-local, loopback and multicast ones.
var kept = []struct{ prefix, is string }{
	{"0.0.0.0/8", "an address of this machine"},
	{"100.64.0.0/10", "a private address"}, // behind NAT of carriers, and metadata of some clouds
	{"168.63.129.16/32", "a metadata address"},
	{"192.0.0.0/24", "a metadata address"},
	{"192.0.2.0/24", "an address of no host"},
	{"192.88.99.0/24", "an address of no host"},
	{"198.18.0.0/15", "a private address"},
	{"198.51.100.0/24", "an address of no host"},
	{"203.0.113.0/24", "an address of no host"},
	{"240.0.0.0/4", "an address of no host"},
	{"100::/64", "an address of no host"},
	{"2001:db8::/32", "an address of no host"},
	{"5f00::/16", "a private address"},
	{"fec0::/10", "a private address"},
}

// keptPrefixes is kept, parsed once.
var keptPrefixes = func() (prefixes []netip.Prefix) {
	for _, k := range kept {
		prefixes = append(prefixes, netip.MustParsePrefix(k.prefix))
	}
	return prefixes
}()

// embeddings are the IPv6 addresses that lead to an IPv4 address, and where its bytes are in them.
var embeddings = []struct {
	prefix netip.Prefix
	at     [4]int
	mask   byte // inverts the bytes
}{
	{netip.MustParsePrefix("::/96"), [4]int{12, 13, 14, 15}, 0},
	{netip.MustParsePrefix("::ffff:0:0:0/96"), [4]int{12, 13, 14, 15}, 0},  // translated
	{netip.MustParsePrefix("64:ff9b::/96"), [4]int{12, 13, 14, 15}, 0},     // NAT64
	{netip.MustParsePrefix("64:ff9b:1::/48"), [4]int{12, 13, 14, 15}, 0},   // NAT64 of a network, whose own prefix has 96 bits,
	{netip.MustParsePrefix("64:ff9b:1::/48"), [4]int{9, 10, 11, 12}, 0},    // 64,
	{netip.MustParsePrefix("64:ff9b:1::/48"), [4]int{7, 9, 10, 11}, 0},     // 56,
	{netip.MustParsePrefix("64:ff9b:1::/48"), [4]int{6, 7, 9, 10}, 0},      // or 48
	{netip.MustParsePrefix("2002::/16"), [4]int{2, 3, 4, 5}, 0},            // 6to4
	{netip.MustParsePrefix("2001::/32"), [4]int{12, 13, 14, 15}, ^byte(0)}, // Teredo
}

// meanings returns an address, and each IPv4 address to which it may lead.
func meanings(addr netip.Addr) []netip.Addr {
	addr = addr.Unmap()
	all, bytes := []netip.Addr{addr}, addr.As16()
	for _, e := range embeddings {
		if e.prefix.Contains(addr) {
			all = append(all, netip.AddrFrom4([4]byte{bytes[e.at[0]] ^ e.mask, bytes[e.at[1]] ^ e.mask, bytes[e.at[2]] ^ e.mask, bytes[e.at[3]] ^ e.mask}))
		}
	}
	return all
}

// kindOf says what is special about an address, nothing if it is one of the internet.
func kindOf(addr netip.Addr) string {
	for _, addr := range meanings(addr) {
		switch i := slices.IndexFunc(keptPrefixes, func(p netip.Prefix) bool { return p.Contains(addr) }); {
		case addr.IsLoopback() || addr.IsUnspecified():
			return "an address of this machine"
		case addr.IsLinkLocalUnicast():
			return "a link-local or metadata address"
		case addr.IsPrivate():
			return "a private address"
		case addr.IsMulticast():
			return "a multicast address"
		case i >= 0:
			return kept[i].is
		case isOwn(addr):
			return "an address of this machine"
		}
	}
	return ""
}

// interfaceAddrs asks for the addresses of this machine; tests have others.
var interfaceAddrs = net.InterfaceAddrs

// isOwn reports whether an interface of this machine has an address.
func isOwn(addr netip.Addr) bool {
	own, err := interfaceAddrs()
	if err != nil {
		return true // It can't be told.
	}
	return slices.ContainsFunc(own, func(a net.Addr) bool {
		prefix, err := netip.ParsePrefix(a.String())
		return err == nil && prefix.Addr().Unmap().WithZone("") == addr
	})
}

// keptError says that a name leads to an address that isn't listed as such.
type keptError struct {
	at   target
	kind string
}

func (e *keptError) Error() string {
	said := fmt.Sprintf("it leads to %s, %s", e.at.addr, e.kind)
	if IsMetadata(e.at.addr) {
		return said + ", which is never reached"
	}
	return fmt.Sprintf("%s; add %s to the input network as well, if that is meant", said, e.at.listed())
}

// meantKey is where the context of a dial has the target that is meant.
type meantKey struct{}

// to is the context of a dial to a target.
func to(ctx context.Context, t target) context.Context { return context.WithValue(ctx, meantKey{}, t) }

// checkDial is called with each address that is about to be connected to, after its
// name was resolved. So a name that leads elsewhere the second time gains nothing. A name
// that is listed with its port may be that of a service of the job, which has a private address.
func (l List) checkDial(ctx context.Context, _, address string, _ syscall.RawConn) error {
	at, ok := parseTarget(address, 0)
	if !ok || !at.addr.IsValid() {
		return fmt.Errorf("unexpected address %q", address)
	}
	kind := kindOf(at.addr)
	meant, _ := ctx.Value(meantKey{}).(target)
	isListed := l.allowsAddr(at.addr, at.port) || at.addr.IsPrivate() && !isOwn(at.addr) && slices.ContainsFunc(l.entries, func(e entry) bool {
		return e.hasPort && !e.isAll && e.host != "" && e.host == meant.host && slices.Contains(e.ports, meant.port)
	})
	if kind == "" || isListed && !IsMetadata(at.addr) {
		return nil
	}
	return &keptError{at: at, kind: kind}
}

// metadata are addresses at which a cloud has its metadata beside or in place of link-local ones: Alibaba's, Azure's,
// Oracle's, Amazon's (also for credentials of pods), Google's and Scaleway's.
var metadata = []netip.Addr{
	netip.MustParseAddr("100.100.100.200"), netip.MustParseAddr("168.63.129.16"), netip.MustParseAddr("192.0.0.192"),
	netip.MustParseAddr("fd00:c1::a9fe:a9fe"), netip.MustParseAddr("fd00:ec2::254"), netip.MustParseAddr("fd00:ec2::23"), netip.MustParseAddr("fd20:ce::254"), netip.MustParseAddr("fd00:42::42"),
}

// IsMetadata reports whether an address leads to the metadata of a cloud, or may lead there, as any link-local one. No list
// opens it.
func IsMetadata(addr netip.Addr) bool {
	return slices.ContainsFunc(meanings(addr), func(meant netip.Addr) bool {
		return meant.IsLinkLocalUnicast() || slices.Contains(metadata, meant)
	})
}
