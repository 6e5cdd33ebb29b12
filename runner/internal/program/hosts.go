package program

import (
	"cmp"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/raymond-action/raymond-action/runner"
)

// Needs returns what the CLI needs in a cage: its program, and its vendor's host or the one of the URL that its environment
// names; "" for none.
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

// hostsOf is the host of a URL, as runner.Needs has it.
func hostsOf(base string) []string {
	u, err := url.Parse(base)
	if err != nil || u.Hostname() == "" {
		return nil // the CLI says what is wrong with it
	}
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil && ip.IsLoopback() && u.Port() == "" {
		return nil
	}
	return []string{u.Host}
}

// BearerToken is the token that a request shows, "" for none.
func BearerToken(r *http.Request) string {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return token
}
