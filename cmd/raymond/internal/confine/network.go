package confine

import "net/netip"

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
