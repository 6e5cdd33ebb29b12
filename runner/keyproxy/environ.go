package keyproxy

import (
	"cmp"
	"crypto/x509"
	"fmt"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
)

// loopback is where the proxy listens. Clients compare it as text.
const loopback = "127.0.0.1"

// bypass returns the variables that keep the agent CLI, and what it starts, from
// asking a proxy of the job for a loopback address. Some programs read the one,
// some the other. A lone asterisk stays alone: not every program knows it in a list.
func bypass(environ []string) []string {
	list := cmp.Or(variable(environ, "NO_PROXY"), variable(environ, "no_proxy"))
	if list != "*" && !slices.Contains(strings.Split(list, ","), loopback) {
		list = strings.TrimPrefix(list+","+loopback, ",")
	}
	return []string{"NO_PROXY=" + list, "no_proxy=" + list}
}

// variable returns a variable of an environment, of which the last entry counts.
func variable(environ []string, name string) string {
	for _, entry := range slices.Backward(environ) {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

// maxAuthorities is more than a file of all authorities of the world has, in bytes.
const maxAuthorities = 16 << 20

// authorities returns the authorities that may sign the API's certificate: nil for
// the system's alone. A file that can't be read is logged, as the agent CLI does it;
// the run fails only if its authorities are needed.
func (p *Proxy) authorities() *x509.CertPool {
	file := variable(p.options.Environ, "NODE_EXTRA_CA_CERTS")
	if file == "" {
		return nil
	}
	data, err := files.ReadTarget(file, maxAuthorities)
	if err != nil {
		p.tell(fmt.Sprintf("read NODE_EXTRA_CA_CERTS: %v", err))
		return nil
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(data) {
		p.tell(fmt.Sprintf("read NODE_EXTRA_CA_CERTS: no certificate in %q", file))
	}
	return pool
}
