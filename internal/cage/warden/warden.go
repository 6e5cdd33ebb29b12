// Package warden decides about system calls for which the numbers that seccomp sees are not enough: to
// which address a caged process connects, on which port it listens, and whether a process whose limits,
// priority or scheduling it changes belongs to the cage. Unix sockets may connect only to sockets on
// which processes of the cage listen. The kernel stops the caller and sends the call to a listener;
// Serve, in a process outside of the cage, responds.
//
// The warden never lets the caller execute a connect: it copies the address, duplicates the socket,
// decides by these two, and connects that very socket itself. Other threads of the caller may change the
// address in memory or replace the descriptor meanwhile; that has no effect. The process that calls Serve
// must be an ancestor of all caged processes and run as their user.
package warden

// Rules are the rules for the processes of one listener.
type Rules struct {
	// Mark is the limit RLIMIT_RTTIME, soft and hard, of every process of this cage. No process of
	// the cage can change it.
	Mark uint64
	// IsOpen allows TCP and UDP to all IP addresses, except TCP to metadata services of clouds.
	// Otherwise only TCP is allowed: to Ports of 127.0.0.1, and to ports of 127.0.0.1 and ::1 on
	// which only processes of the cage listen. They can then listen only on the loopback device.
	IsOpen bool
	Ports  []uint16
	// OnRefused reports each refused connection. Several goroutines may call it at once. It may be
	// nil. target is an address with its port, the path of a unix socket, or "@" and the name of an
	// abstract unix socket. Caged processes choose this text.
	OnRefused func(target string)
}
