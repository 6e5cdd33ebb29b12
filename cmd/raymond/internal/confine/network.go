package confine

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/places"
	"github.com/raymond-action/raymond-action/internal/cage/forward"
)

// anthropic is where the agent CLI asks the model's API unless it is told otherwise.
const anthropic = "api.anthropic.com"

// modelAPI is where the agent CLI asks the model's API: at a port of this machine, as of
// the key proxy, or at a host that the list of hosts has to have.
func modelAPI(environ []string) (ports []uint16, hosts []string) {
	base := places.Value(environ, "ANTHROPIC_BASE_URL")
	if base == "" {
		return nil, []string{anthropic}
	}
	u, err := url.Parse(base)
	if err != nil || u.Hostname() == "" {
		return nil, nil // the CLI says what is wrong with it
	}
	ip, err := netip.ParseAddr(u.Hostname())
	if err != nil || !ip.IsLoopback() {
		return nil, []string{u.Host}
	}
	port, err := strconv.ParseUint(u.Port(), 10, 16)
	if err != nil {
		return nil, nil
	}
	return []uint16{uint16(port)}, nil
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
