package forward

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
)

// List says which hosts may be reached. The zero List is none.
type List struct {
	isOpen  bool
	entries []entry
}

// entry is a host, all hosts below one, or an address.
type entry struct {
	host  string // in lower case; empty if there is an address
	isAll bool   // the hosts below host, without itself
	addr  netip.Addr
	ports []uint16
	// hasPort says that the user has named the port.
	hasPort bool
}

// IsOpen reports whether every address may be reached, so that there is nothing for a
// proxy to do.
func (l List) IsOpen() bool { return l.isOpen }

// isNone reports whether nothing may be reached.
func (l List) isNone() bool { return !l.isOpen && len(l.entries) == 0 }

// presets are hosts that belong together. They are reached with TLS alone.
var presets = map[string]string{
	"registry-npm":  "registry.npmjs.org:443 registry.yarnpkg.com:443",
	"registry-go":   "proxy.golang.org:443 sum.golang.org:443 storage.googleapis.com:443", // the last for large files, such as toolchains
	"registry-pypi": "pypi.org:443 files.pythonhosted.org:443",
	"github": "github.com:443 api.github.com:443 codeload.github.com:443 uploads.github.com:443 raw.githubusercontent.com:443 " +
		"objects.githubusercontent.com:443 release-assets.githubusercontent.com:443 media.githubusercontent.com:443 " +
		"github-cloud.githubusercontent.com:443 github-cloud.s3.amazonaws.com:443",
}

// LoopbackPorts returns the ports of 127.0.0.1 that the list has, as for a database
// beside the job. Programs reach them without the proxy, which is for HTTP alone, so the
// cage has to let them.
func (l List) LoopbackPorts() []uint16 {
	var ports []uint16
	for _, e := range l.entries {
		if e.addr == loopback {
			ports = append(ports, e.ports...)
		}
	}
	return ports
}

var loopback = netip.AddrFrom4([4]byte{127, 0, 0, 1})

// Presets returns the names that stand for several hosts, sorted.
func Presets() []string {
	var names []string
	for name := range presets {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Parse reads the value of the input network: "open", "none", or hosts separated by
// blanks, commas or lines. A host is a name, "*." and a name for all hosts below it, or
// an address, each with a port or for the ports 443 and 80, or the name of a preset.
func Parse(text string) (List, error) {
	words := strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || r == ',' })
	switch {
	case len(words) == 0:
		return List{}, errors.New("it is empty: write open, none, or hosts")
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
			e.hasPort = e.hasPort && host == word // a preset has ports of its own
			list.entries = append(list.entries, e)
		}
	}
	return list, nil
}

// A name has labels of letters, digits, "-" and "_", and the last is no number: then it
// would be an address in one of the ways that only some programs understand.
var (
	namePattern   = text.Regexp(`^[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*$`)
	numberPattern = text.Regexp(`(^|\.)(0x[0-9a-f]*|[0-9]+)$`)
)

const longestName = 253

func isName(host string) bool {
	return len(host) <= longestName && namePattern().MatchString(host) && !numberPattern().MatchString(host)
}

// parseEntry reads one entry. Its errors continue a sentence that begins with the entry.
func parseEntry(word string) (entry, error) {
	switch {
	case word == "open" || word == "none":
		return entry{}, errors.New("stands alone or not at all")
	case strings.Contains(word, "://"):
		return entry{}, errors.New("is an address of a page: write the host alone")
	case strings.Contains(word, "/"):
		return entry{}, errors.New("has a slash: write hosts and single addresses")
	}
	if addr, err := netip.ParseAddr(strings.Trim(word, "[]")); err == nil {
		return addrEntry(addr, nil)
	}
	host, ports := word, []uint16(nil)
	if before, text, err := net.SplitHostPort(word); err == nil {
		port, err := strconv.ParseUint(text, 10, 16)
		if err != nil || port == 0 {
			return entry{}, fmt.Errorf("has the port %q, which is no number from 1 to 65535", text)
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
		return entry{}, errors.New("would be every host: write open")
	case name == "localhost":
		return entry{}, errors.New("is this machine: write 127.0.0.1 and a port")
	case !isName(rest):
		return entry{}, errors.New("is no name of a host, such as example.com, *.example.com or example.com:8443, nor an address, nor one of " +
			strings.Join(Presets(), ", "))
	}
	return entry{host: rest, isAll: isAll, ports: orWeb(ports), hasPort: len(ports) > 0}, nil
}

func addrEntry(addr netip.Addr, ports []uint16) (entry, error) {
	if addr.Zone() != "" {
		return entry{}, errors.New("has a zone: write the address alone")
	}
	return entry{addr: addr.Unmap(), ports: orWeb(ports)}, nil
}

func orWeb(ports []uint16) []uint16 {
	if len(ports) == 0 {
		return []uint16{443, 80}
	}
	return ports
}

// canonical is how names are compared.
func canonical(host string) string {
	return strings.TrimSuffix(strings.ToLower(host), ".")
}

// allows reports whether a target may be reached as far as its name says.
func (l List) allows(t target) bool {
	if t.addr.IsValid() {
		return l.allowsAddr(t.addr, t.port)
	}
	return slices.ContainsFunc(l.entries, func(e entry) bool {
		isIt := e.host == t.host && !e.isAll || e.isAll && strings.HasSuffix(t.host, "."+e.host)
		return e.host != "" && isIt && slices.Contains(e.ports, t.port)
	})
}

// allowsAddr reports whether the list has an address as such.
func (l List) allowsAddr(addr netip.Addr, port uint16) bool {
	return slices.ContainsFunc(l.entries, func(e entry) bool {
		return e.addr == addr && slices.Contains(e.ports, port)
	})
}

// target is what a client wants to reach: a name or an address, and a port.
type target struct {
	host string
	addr netip.Addr
	port uint16
}

// parseTarget reads the host of a request, which has the given port if it names none.
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

// String is the target as it is dialled and told: "example.com:443".
func (t target) String() string {
	host := t.host
	if t.addr.IsValid() {
		host = t.addr.String()
	}
	return net.JoinHostPort(host, strconv.Itoa(int(t.port)))
}

// listed is the target as it would have to be listed.
func (t target) listed() string {
	switch isWeb := t.port == 443 || t.port == 80; {
	case !isWeb:
		return t.String()
	case t.addr.IsValid():
		return t.addr.String()
	}
	return t.host
}
