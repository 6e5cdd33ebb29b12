package program

import (
	"cmp"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/raymond-action/raymond-action/runner"
)

// Needs returns the requirements of the CLI in a cage: the files of its program, and the host of its
// API. That is the key proxy if it has a key for the CLI, else the host of base, the API's URL in the
// CLI's environment, or host if base is "".
func (c *CLI) Needs(s Source, base, host string) runner.Needs {
	needs := runner.Needs{Read: ProgramFiles(cmp.Or(c.Path, s.Name))}
	switch {
	case c.Proxy != nil && c.Proxy.HasKey(s.Backend):
		needs.Hosts = []string{c.Proxy.Address()}
	case base == "":
		needs.Hosts = []string{host}
	default:
		needs.Hosts = hostsOf(base)
	}
	return needs
}

// hostsOf returns the host of a URL in the format of runner.Needs.
func hostsOf(base string) []string {
	u, err := url.Parse(base)
	if err != nil || u.Hostname() == "" {
		return nil // the CLI itself reports the mistake
	}
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil && ip.IsLoopback() && u.Port() == "" {
		return nil
	}
	return []string{u.Host}
}

// BearerToken returns the bearer token of a request; "" without a token.
func BearerToken(r *http.Request) string {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return token
}
