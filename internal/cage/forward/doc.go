// Package forward is an HTTP proxy for cages whose network is a list of hosts. It listens on loopback.
// Caged programs can reach the network only through this proxy, and it connects only to listed hosts. It
// supports CONNECT and requests for http:// URLs, and doesn't inspect the contents. If a host isn't
// listed, the response has status 403 and names the missing entry. If a host can't be reached, the
// status is 502 or 504.
//
// Parse reads the list, Start starts the proxy outside of the cage, and Env returns the variables
// that make caged programs use it.
package forward
