package program

import (
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/raymond-action/raymond-action/runner/keyproxy"
)

// API is where an agent CLI asks the API of its vendor.
type API struct {
	Backend string          // of the CLI
	Base    string          // the URL that its environment names; "" for none
	Host    string          // of the vendor
	Proxy   *keyproxy.Proxy // that it may have to ask; nil for none
}

// Hosts returns the hosts that a cage must let it reach, as runner.Needs has them.
func (a API) Hosts() []string {
	if a.Proxy != nil && a.Proxy.Has(a.Backend) {
		return []string{a.Proxy.Address()}
	}
	if a.Base == "" {
		return []string{a.Host}
	}
	u, err := url.Parse(a.Base)
	if err != nil || u.Hostname() == "" {
		return nil // the CLI says what is wrong with it
	}
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil && ip.IsLoopback() && u.Port() == "" {
		return nil
	}
	return []string{u.Host}
}

// Bearer is the token that a request shows, "" for none.
func Bearer(r *http.Request) string {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return token
}
