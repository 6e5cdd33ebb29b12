package confine

import (
	"net/netip"
	"strings"

	"github.com/raymond-action/raymond-action/internal/cage/forward"
)

// apart tells the hosts of APIs on this machine, as of the key proxy, which are reached at their
// ports, from those that the list of hosts has to have.
func apart(hosts []string) (ports []uint16, others []string) {
	for _, host := range hosts {
		if at, err := netip.ParseAddrPort(host); err == nil && at.Addr().IsLoopback() {
			ports = append(ports, at.Port())
			continue
		}
		others = append(others, host)
	}
	return ports, others
}

// withHosts is a list of hosts, as it is written and as it was read, with others.
func withHosts(written string, list forward.List, hosts []string) (forward.List, error) {
	if len(hosts) == 0 {
		return list, nil
	}
	if strings.TrimSpace(written) == "none" {
		written = ""
	}
	return forward.Parse(written + " " + strings.Join(hosts, " "))
}
