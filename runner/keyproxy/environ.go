package keyproxy

import (
	"crypto/x509"
	"fmt"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
)

// loopback is the address on which the proxy listens. Clients find it in NO_PROXY by comparing the text.
const loopback = "127.0.0.1"

// variable returns the value of a variable in an environment. If a name occurs twice, the last entry is used.
func variable(environ []string, name string) string {
	for _, entry := range slices.Backward(environ) {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

// maxAuthorities is the maximum size in bytes of the file with certificate authorities. A file with all
// public authorities is smaller.
const maxAuthorities = 16 << 20

// authorities returns the certificate authorities that may sign the API's certificate. It returns nil,
// which means the system's authorities, unless NODE_EXTRA_CA_CERTS names a file with additional ones. If
// the file can't be read, authorities only logs the error, as agent CLIs do. Requests fail later if they
// need the file's authorities.
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
