package keyproxy

import (
	"errors"
	"net/url"
	"slices"
	"strings"
)

// vendor is an API that requests are forwarded to.
type vendor struct {
	api        API
	upstream   *url.URL
	isDirect   bool       // upstream is the vendor's own
	credential Credential // the real one
	headers    []string   // that are forwarded, as API.Headers has them
}

// newVendor checks what the proxy is told of a vendor.
func newVendor(v Vendor) (*vendor, error) {
	// A secret often ends with the line break of the file that it came from.
	v.Credential.Text = strings.TrimSpace(v.Credential.Text)
	if err := checkCredential(v.Credential.Text); err != nil {
		return nil, err
	}
	one := &vendor{api: v.API, credential: v.Credential, headers: slices.Concat(clientHeaders, v.API.Headers(), v.Headers)}
	if v.Upstream == "" {
		v.Upstream = v.API.Upstream()
	}
	one.isDirect = strings.TrimSuffix(v.Upstream, "/") == v.API.Upstream()
	var err error
	one.upstream, err = parseUpstream(v.Upstream)
	return one, err
}

// clientHeaders are the headers that every HTTP client sends.
var clientHeaders = []string{"Accept", "Accept-Language", "Content-Type", "User-Agent"}

// forwards reports whether the API gets a header. An unknown header may change what a request costs or who pays for it.
func (v *vendor) forwards(name string) bool {
	return slices.ContainsFunc(v.headers, func(allowed string) bool {
		return name == allowed || strings.HasSuffix(allowed, "-") && strings.HasPrefix(name, allowed)
	})
}

// checkCredential refuses what no header can carry before anything quotes it.
func checkCredential(secret string) error {
	if secret == "" {
		return errors.New("no key")
	}
	if strings.ContainsFunc(secret, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return errors.New("the key has blanks, line breaks or other characters that no key has")
	}
	return nil
}

// parseUpstream reads the URL of an API. It quotes nothing of one that it does
// not understand: there may be a password in it.
func parseUpstream(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "":
		return nil, errors.New("the API's address is no http or https URL")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("the API's address has a login, a query or a fragment")
	}
	return u, nil
}

// HasKey reports whether the proxy has a key for an agent CLI.
func (p *Proxy) HasKey(backend string) bool { return p.vendor(backend) != nil }

// vendor returns the API of an agent CLI; nil when there is none.
func (p *Proxy) vendor(backend string) *vendor {
	for _, v := range p.vendors {
		if v.api.Backend() == backend {
			return v
		}
	}
	return nil
}

// HideAddress replaces the proxy's address, with an invocation's own path, by that of the
// API, which is what an agent CLI means when its errors name where it asked.
func (p *Proxy) HideAddress(text string) string { return p.own.ReplaceAllStringFunc(text, p.meant) }

// meant is the address of the API that is meant by one of the proxy's. Without a path that
// is known only if there is one API.
func (p *Proxy) meant(address string) string {
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
