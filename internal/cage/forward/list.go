package forward

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
)

// List contains the hosts to which caged programs may connect. The zero List allows no host.
type List struct {
	isOpen  bool
	entries []entry
}

// entry is one host, all hosts below a domain, or one address.
type entry struct {
	host  string // in lower case; "" if the entry is an address
	isAll bool   // the entry matches the hosts below host, but not host itself
	addr  netip.Addr
	ports []uint16
	// hasPort is true if the user's entry contains a port.
	hasPort bool
}

// IsOpen reports whether every address may be reached. If so, no proxy is needed.
func (l List) IsOpen() bool { return l.isOpen }

// isNone reports whether no host may be reached.
func (l List) isNone() bool { return !l.isOpen && len(l.entries) == 0 }

// presets are names for groups of hosts. Programs reach these hosts only over TLS (port 443).
var presets = map[string]string{
	"registry-npm":  "registry.npmjs.org:443 registry.yarnpkg.com:443",
	"registry-go":   "proxy.golang.org:443 sum.golang.org:443 storage.googleapis.com:443", // storage.googleapis.com serves large files, such as toolchains
	"registry-pypi": "pypi.org:443 files.pythonhosted.org:443",
	"github": "github.com:443 api.github.com:443 codeload.github.com:443 uploads.github.com:443 raw.githubusercontent.com:443 " +
		"objects.githubusercontent.com:443 release-assets.githubusercontent.com:443 media.githubusercontent.com:443 " +
		"github-cloud.githubusercontent.com:443 github-cloud.s3.amazonaws.com:443",
}

// LoopbackPorts returns the listed ports of 127.0.0.1, for example the port of a database that the job
// started. Programs connect to them directly, because the proxy supports only HTTP. Therefore the cage
// must allow them.
func (l List) LoopbackPorts() []uint16 {
	var ports []uint16
	for _, e := range l.entries {
		if e.addr == loopback {
			ports = append(ports, e.ports...)
		}
	}
	return ports
}

// loopback is the address whose ports LoopbackPorts returns.
var loopback = netip.AddrFrom4([4]byte{127, 0, 0, 1})

// Presets returns the sorted names of the presets.
func Presets() []string {
	return slices.Sorted(maps.Keys(presets))
}

// Parse parses the value of the input network: "open", "none", or a list of hosts separated by spaces,
// line breaks or commas. A host is a name, an address, "*." and a domain for all hosts below the domain,
// or the name of a preset. Names and addresses may have a port. Without one, ports 443 and 80 are
// allowed.
func Parse(text string) (List, error) {
	words := strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || r == ',' })
	switch {
	case len(words) == 0:
		return List{}, errors.New("it is empty: write open, none or a list of hosts")
	case len(words) == 1 && words[0] == "open":
		return List{isOpen: true}, nil
	case len(words) == 1 && words[0] == "none":
		return List{}, nil
	}
	var list List
	for _, word := range words {
		for _, host := range strings.Fields(cmp.Or(presets[word], word)) {
			e, err := parseEntry(host)
			if err != nil {
				return List{}, fmt.Errorf("%q %w", word, err)
			}
			e.hasPort = e.hasPort && host == word // a preset's ports don't come from the user
			list.entries = append(list.entries, e)
		}
	}
	return list, nil
}

// namePattern matches a host name: labels of letters, digits, "-" and "_". numberPattern matches a name
// whose last label is a number. Such names are rejected, because some programs read 127.1 or 0x7f000001
// as an IPv4 address.
var (
	namePattern   = text.Regexp(`^[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*$`)
	numberPattern = text.Regexp(`(^|\.)(0x[0-9a-f]*|[0-9]+)$`)
)

// longestName is the maximum length of a host name in DNS.
const longestName = 253

// isName reports whether a host, in lower case, is a valid host name.
func isName(host string) bool {
	return len(host) <= longestName && namePattern().MatchString(host) && !numberPattern().MatchString(host)
}

// parseEntry parses one entry. The text of its error continues a sentence that begins with the entry.
func parseEntry(word string) (entry, error) {
	switch {
	case word == "open" || word == "none":
		return entry{}, errors.New("can't be combined with other entries")
	case strings.Contains(word, "://"):
		return entry{}, errors.New("is a URL: write only the host")
	case strings.Contains(word, "/"):
		return entry{}, errors.New("has a slash: write hosts and single addresses, not ranges")
	}
	if addr, err := netip.ParseAddr(strings.Trim(word, "[]")); err == nil {
		return addrEntry(addr, nil)
	}
	host, ports := word, []uint16(nil)
	if before, text, err := net.SplitHostPort(word); err == nil {
		port, err := strconv.ParseUint(text, 10, 16)
		if err != nil || port == 0 {
			return entry{}, fmt.Errorf("has the invalid port %q: write a number from 1 to 65535", text)
		}
		host, ports = before, []uint16{uint16(port)}
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		return addrEntry(addr, ports)
	}
	name := canonical(host)
	rest, isAll := strings.CutPrefix(name, "*.")
	switch {
	case name == "*":
		return entry{}, errors.New("would match every host: write open")
	case name == "localhost":
		return entry{}, errors.New("is this machine: write 127.0.0.1 with a port")
	case !isName(rest):
		return entry{}, errors.New("is neither a host (such as example.com, *.example.com or example.com:8443) nor an address nor one of " +
			strings.Join(Presets(), ", "))
	}
	return entry{host: rest, isAll: isAll, ports: orWebPorts(ports), hasPort: len(ports) > 0}, nil
}

// addrEntry returns the entry for an address. Without ports, ports 443 and 80 are allowed.
func addrEntry(addr netip.Addr, ports []uint16) (entry, error) {
	if addr.Zone() != "" {
		return entry{}, errors.New("has a zone: write the address without it")
	}
	return entry{addr: addr.Unmap(), ports: orWebPorts(ports)}, nil
}

// orWebPorts returns ports or, if there are none, ports 443 and 80.
func orWebPorts(ports []uint16) []uint16 {
	if len(ports) == 0 {
		return []uint16{443, 80}
	}
	return ports
}

// canonical returns a host name in the form in which names are compared: in lower case and without a
// final dot.
func canonical(host string) string {
	return strings.TrimSuffix(strings.ToLower(host), ".")
}

// allows reports whether the list contains the target's name or address with its port. The addresses to
// which a name resolves are checked later, by checkDial.
func (l List) allows(t target) bool {
	if t.addr.IsValid() {
		return l.allowsAddr(t.addr, t.port)
	}
	return slices.ContainsFunc(l.entries, func(e entry) bool {
		isIt := e.host == t.host && !e.isAll || e.isAll && strings.HasSuffix(t.host, "."+e.host)
		return e.host != "" && isIt && slices.Contains(e.ports, t.port)
	})
}

// allowsAddr reports whether the list contains exactly this address with this port.
func (l List) allowsAddr(addr netip.Addr, port uint16) bool {
	return slices.ContainsFunc(l.entries, func(e entry) bool {
		return e.addr == addr && slices.Contains(e.ports, port)
	})
}

// target is the destination that a client requests: a host name or an address, and a port.
type target struct {
	// host is the name. It is empty if the client requested an address.
	host string
	addr netip.Addr
	port uint16
}

// parseTarget parses the host of a request. port is used if the host contains no port. It returns false
// if the host or the port is invalid.
func parseTarget(hostport string, port uint16) (target, bool) {
	host := hostport
	if split, text, err := net.SplitHostPort(hostport); err == nil {
		number, err := strconv.ParseUint(text, 10, 16)
		if err != nil || number == 0 {
			return target{}, false
		}
		host, port = split, uint16(number)
	}
	if addr, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return target{addr: addr.WithZone("").Unmap(), port: port}, true
	}
	host = canonical(host)
	return target{host: host, port: port}, isName(host)
}

// String returns the target as host and port, for example "example.com:443".
func (t target) String() string {
	host := t.host
	if t.addr.IsValid() {
		host = t.addr.String()
	}
	return net.JoinHostPort(host, strconv.Itoa(int(t.port)))
}

// entryText returns the list entry that would allow the target.
func (t target) entryText() string {
	switch isWeb := t.port == 443 || t.port == 80; {
	case !isWeb:
		return t.String()
	case t.addr.IsValid():
		return t.addr.String()
	}
	return t.host
}
