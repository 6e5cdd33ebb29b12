// Package forward is an HTTP proxy on loopback for cages whose network is a list of hosts: the proxy
// is the only way out, and it allows only hosts of the list. It supports CONNECT and requests for
// http:// URLs, and doesn't inspect the contents. A host that isn't listed gets status 403 with the
// entry to add; a host that can't be reached gets 502 or 504.
//
// Parse reads the list, Start starts the proxy outside of the cage, and Env returns the variables
// that make caged programs use it.
package forward
