package keyproxy

import (
	"cmp"
	"crypto/x509"
	"fmt"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
)

// loopback is the address on which the proxy listens. Clients compare it as text.
const loopback = "127.0.0.1"

// noProxyVars returns variables that keep the agent CLI and its child processes from sending requests
// for a loopback address to a proxy of the job. Some programs read NO_PROXY, others no_proxy. A value
// of "*" stays unchanged, because not every program understands it in a list.
func noProxyVars(environ []string) []string {
	list := cmp.Or(variable(environ, "NO_PROXY"), variable(environ, "no_proxy"))
	if list != "*" && !slices.Contains(strings.Split(list, ","), loopback) {
		list = strings.TrimPrefix(list+","+loopback, ",")
	}
	return []string{"NO_PROXY=" + list, "no_proxy=" + list}
}

// variable returns the value of a variable in an environment. If a name occurs twice, the last entry counts.
func variable(environ []string, name string) string {
	for _, entry := range slices.Backward(environ) {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

// maxAuthorities bounds the file with certificate authorities, in bytes. A file with all public
// authorities is smaller.
const maxAuthorities = 16 << 20

// authorities returns the certificate authorities that may sign the API's certificate; nil for only the
// system's authorities. A file that can't be read is only logged, as agent CLIs do; requests fail later
// if its authorities are needed.
func (p *Proxy) authorities() *x509.CertPool {
	file := variable(p.options.Environ, "NODE_EXTRA_CA_CERTS")
	if file == "" {
		return nil
	}
	data, err := files.ReadTarget(file, maxAuthorities)
	if err != nil {
		p.log(fmt.Sprintf("read NODE_EXTRA_CA_CERTS: %v", err))
		return nil
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(data) {
		p.log(fmt.Sprintf("read NODE_EXTRA_CA_CERTS: no certificate in %q", file))
	}
	return pool
}
