package keyproxy

import (
	"errors"
	"net/url"
	"slices"
	"strings"
)

// vendor is an API to which requests are forwarded, with its checked configuration.
type vendor struct {
	api        API
	upstream   *url.URL
	isDirect   bool       // upstream is the vendor's own server
	credential Credential // the real credential
	headers    []string   // the headers to forward, in the format of API.Headers
}

// newVendor checks the configuration of a vendor. If Vendor.Upstream is empty, it uses API.Upstream.
func newVendor(v Vendor) (*vendor, error) {
	// A secret that was read from a file often ends with a line feed.
	v.Credential.Text = strings.TrimSpace(v.Credential.Text)
	if err := checkCredential(v.Credential.Text); err != nil {
		return nil, err
	}
	one := &vendor{api: v.API, credential: v.Credential, headers: slices.Concat(clientHeaders, v.API.Headers(), v.Headers)}
	if v.Upstream == "" {
		v.Upstream = v.API.Upstream()
	}
	one.isDirect = strings.TrimSuffix(v.Upstream, "/") == v.API.Upstream()
	// The errors don't quote the URL, because it may contain a password.
	u, err := url.Parse(v.Upstream)
	switch {
	case err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "":
		return nil, errors.New("the API's address is not an http or https URL")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("the API's address must not contain a login, a query or a fragment")
	}
	one.upstream = u
	return one, nil
}

// clientHeaders are headers that every HTTP client may send.
var clientHeaders = []string{"Accept", "Accept-Language", "Content-Type", "User-Agent"}

// forwards reports whether the header with the given name is forwarded to the API. Other headers are
// dropped, because they could change the cost of a request or the account that pays for it.
func (v *vendor) forwards(name string) bool {
	return slices.ContainsFunc(v.headers, func(allowed string) bool {
		return name == allowed || strings.HasSuffix(allowed, "-") && strings.HasPrefix(name, allowed)
	})
}

// checkCredential returns an error if a credential is empty or can't be sent in a header. Without this
// check, errors of net/http would quote the credential later.
func checkCredential(secret string) error {
	if secret == "" {
		return errors.New("no key")
	}
	if strings.ContainsFunc(secret, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return errors.New("the key contains spaces, line breaks or other characters that keys don't have")
	}
	return nil
}

// HasKey reports whether the proxy has a key for the API of an agent CLI.
func (p *Proxy) HasKey(backend string) bool { return p.vendor(backend) != nil }

// vendor returns the vendor of an agent CLI. It returns nil if the proxy has no key for the CLI.
func (p *Proxy) vendor(backend string) *vendor {
	for _, v := range p.vendors {
		if v.api.Backend() == backend {
			return v
		}
	}
	return nil
}

// HideAddress returns s with the API's address in place of the proxy's address and account path. Users
// then see in an agent CLI's errors which server failed.
func (p *Proxy) HideAddress(s string) string { return p.addresses.ReplaceAllStringFunc(s, p.apiURL) }

// apiURL returns the API's address for an address of the proxy. If the address contains no account path and
// the proxy serves several APIs, apiURL returns "the API of the model".
func (p *Proxy) apiURL(address string) string {
	rest, isURL := strings.CutPrefix(address, "http://")
	backend, _, _ := strings.Cut(strings.TrimPrefix(rest, p.address+prefix), "/")
	v := p.vendor(backend)
	if v == nil && len(p.vendors) == 1 {
		v = p.vendors[0]
	}
	switch {
	case v == nil:
		return "the API of the model"
	case isURL:
		return strings.TrimSuffix(v.upstream.String(), "/")
	}
	return v.upstream.Host
}
