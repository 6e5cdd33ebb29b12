package confine

import "net/netip"

// splitHosts separates the hosts of APIs on this machine, like the key proxy, which are reached by their ports,
// from the hosts that must be in the list of hosts.
func splitHosts(hosts []string) (ports []uint16, others []string) {
	for _, host := range hosts {
		if at, err := netip.ParseAddrPort(host); err == nil && at.Addr().IsLoopback() {
			ports = append(ports, at.Port())
			continue
		}
		others = append(others, host)
	}
	return ports, others
}
