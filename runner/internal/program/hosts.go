package program

import (
	"cmp"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/raymond-action/raymond-action/runner"
)

// Needs returns what the CLI needs in a cage: the files of its program, and the host of its API. If the
// key proxy has a key for the CLI, the API's host is the key proxy. Otherwise, it is the host in the URL base,
// which is the API's URL in the CLI's environment. If base is empty, it is the vendor's host, the parameter
// host.
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

// hostsOf returns the host of a URL in the format of Needs.Hosts. It returns nil if the URL is invalid,
// or if its host is a loopback address and it contains no port.
func hostsOf(base string) []string {
	u, err := url.Parse(base)
	if err != nil || u.Hostname() == "" {
		return nil // the CLI itself reports an invalid URL
	}
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil && ip.IsLoopback() && u.Port() == "" {
		return nil
	}
	return []string{u.Host}
}

// BearerToken returns the bearer token of a request. It returns "" if the request contains none.
func BearerToken(r *http.Request) string {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return token
}
