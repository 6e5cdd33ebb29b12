// Package warden decides about system calls that seccomp alone can't check, because it sees only their
// numeric arguments. It decides to which address a caged process connects, on which port it listens, and
// for which processes it changes the limits, priority or scheduling. A unix socket may connect only to a
// socket on which a process in the cage listens. The kernel stops the caller and sends the call to a
// listener. Serve receives the call in a process outside of the cage and responds.
//
// The warden never lets the caller itself execute an allowed connect. It copies the address, duplicates
// the socket, decides about these two, and connects that very socket itself. Until then, other threads
// of the caller may change the address in memory or replace the descriptor, but that has no effect. The
// process that calls Serve must be an ancestor of all caged processes and run as the same user.
package warden

// Rules define what the processes with one listener may do.
type Rules struct {
	// Mark is the soft and the hard limit RLIMIT_RTTIME of every process in the cage. No process in the
	// cage can change this limit.
	Mark uint64
	// IsOpen allows TCP and UDP to all IP addresses, except TCP to metadata services of clouds. If it is
	// false, only TCP is allowed, and only to Ports of 127.0.0.1 and to ports of 127.0.0.1 and ::1 on which
	// only processes in the cage listen. These processes can then listen only on the loopback device.
	IsOpen bool
	Ports  []uint16
	// OnRefused is called for each denied connection. target is an address with its port, the path of a unix
	// socket, or "@" and the name of an abstract unix socket. Caged processes can influence this text. Several
	// goroutines may call OnRefused at the same time. It may be nil.
	OnRefused func(target string)
}
