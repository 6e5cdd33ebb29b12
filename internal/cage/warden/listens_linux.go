package warden

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"net/netip"
	"os"
	"strings"
)

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
	if err != nil { // a kernel without that interface
		all, err = readListening("/proc/self/net/tcp", "/proc/self/net/tcp6")
	}
	if err != nil {
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

// readListening reads the sockets that listen from tables of the kernel.
func readListening(tables ...string) ([]listener, error) {
	var found []listener
	for _, name := range tables {
		table, err := os.Open(name)
		if os.IsNotExist(err) { // no IPv6
			continue
		}
		if err != nil {
			return nil, err
		}
		lines := bufio.NewScanner(table)
		for lines.Scan() {
			if l, ok := parseListening(lines.Text()); ok {
				found = append(found, l)
			}
		}
		table.Close()
		if err := lines.Err(); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// parseListening reads a line of such a table, if its socket listens:
//
//	sl local_address rem_address st tx_queue:rx_queue tr:tm->when retrnsmt uid timeout inode
func parseListening(line string) (listener, bool) {
	const listen = "0A"
	fields := strings.Fields(line)
	if len(fields) < 10 || fields[3] != listen {
		return listener{}, false
	}
	local, ok := parseLocal(fields[1])
	return listener{socket: "socket:[" + fields[9] + "]", local: local}, ok
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

// parseLocal reads an address of the kernel's tables: words of the machine's byte
// order, then the port.
func parseLocal(text string) (netip.AddrPort, bool) {
	host, port, ok := strings.Cut(text, ":")
	address, err := hex.DecodeString(host)
	number, err2 := hex.DecodeString(port)
	if !ok || err != nil || err2 != nil || len(number) != 2 || len(address)%4 != 0 {
		return netip.AddrPort{}, false
	}
	for i := 0; i < len(address); i += 4 {
		binary.NativeEndian.PutUint32(address[i:], binary.BigEndian.Uint32(address[i:]))
	}
	ip, ok := netip.AddrFromSlice(address)
	return netip.AddrPortFrom(ip.Unmap(), binary.BigEndian.Uint16(number)), ok
}
