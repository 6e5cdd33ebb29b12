package confine

import "net/netip"

// splitHosts separates hosts on this machine, such as the key proxy, from all others. Hosts on this
// machine are reached directly through their ports. The others must be added to the proxy's list of hosts.
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
