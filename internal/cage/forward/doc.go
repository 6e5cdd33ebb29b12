// Package forward is the way out of a cage whose network is a list of hosts: an HTTP
// proxy on loopback that knows the list. It takes CONNECT, and requests for http://
// addresses; it doesn't look into what passes. What isn't listed gets 403 with the line
// to add, what can't be reached 502 to 504.
//
// Parse reads the list, Start starts the proxy outside of the cage, and Env names the
// variables by which caged programs find it.
package forward
