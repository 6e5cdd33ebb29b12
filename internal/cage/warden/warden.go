// Package warden decides what seccomp can't decide by numbers: which address a caged
// process connects to, at which port it listens, and whether a process whose scheduling or limits are to be
// changed belongs to the cage. Unix sockets lead to those alone that the cage has made listen. The kernel stops the caller and asks through a
// listener; Serve answers, in a process that is outside of the cage.
//
// A connect is never let through to the caller: the warden copies the address, fetches
// the socket, decides by these two, and connects that very socket itself. So nothing
// that other threads of the caller do meanwhile, to its memory or its descriptors, makes
// a difference. The process that calls Serve must be an ancestor of all caged
// processes, and have their user.
package warden

// Rules say what is decided for the processes behind one listener.
type Rules struct {
	// Mark is the limit RLIMIT_RTTIME, hard and soft, of every process of this cage.
	// None of them can change it.
	Mark uint64
	// IsOpen allows every IP address, TCP or UDP, but TCP to those of clouds' metadata. Otherwise only
	// TCP is allowed: to Ports of 127.0.0.1, and to ports of 127.0.0.1 and ::1 at which
	// processes of the cage listen, and nobody else; who listens does so for loopback.
	IsOpen bool
	Ports  []uint16
	// OnRefused is told about each connection that was refused, from
	// any goroutine; nil for nobody. The target is an address with its port, the path of
	// a unix socket, or its abstract name behind an @. Its text comes from strangers.
	OnRefused func(target string)
}
