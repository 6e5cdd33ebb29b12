// Package cage confines a child process and all that it starts: which files they
// read and write, which other processes they reach, which addresses they connect to.
// It needs neither root nor containers nor namespaces, but Linux with Landlock and
// seccomp; elsewhere Lacks says that there is no cage.
//
// A Cage is made of a Policy, once for a run. A child gets into it by starting this
// program as its wrapper (package entry), which puts the cage on itself and then
// becomes the child's program. What seccomp can't decide by numbers is decided by
// this process, which stays outside (package warden).
package cage

// Policy says what caged processes may do. Paths are absolute. Links are followed
// when the Cage is made, never later.
type Policy struct {
	// Readable files and folders may be read with all that is below them, and nothing else
	// but what is Writable. nil: everything.
	Readable []string
	// Hidden files and folders can't be read, nor can anything below them, although they lie below a Readable
	// folder; what Readable or Writable names below them can be.
	Hidden []string
	// IsTrusted is for who is trusted but must not come across what others have written: what can be read can
	// be written, and nothing else is held.
	IsTrusted bool
	// Writable folders and files may be read and written with all that is below them.
	// Those that don't exist are left out. Nothing below a writable folder is hidden.
	Writable []string
	Network  Network
	// OnEnd is called when a child and all its descendants have ended. It may be nil.
	OnEnd func()
}

// Network says which addresses caged processes may connect to.
type Network struct {
	// IsOpen allows every address and UDP. Otherwise only Ports are reached, and
	// what caged processes themselves listen on at 127.0.0.1 and ::1.
	IsOpen bool
	// Ports are those of our own proxies on 127.0.0.1.
	Ports []uint16
	// OnRefused is told about connections that were refused, from any goroutine; nil
	// for nobody. The target is an address, or the path of a unix socket.
	OnRefused func(target string)
}
