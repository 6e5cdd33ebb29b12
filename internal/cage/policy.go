// Package cage confines a child process and all processes that it starts: which files they read and
// write, which other processes they reach, and to which addresses they connect. It needs neither root
// nor containers nor namespaces, but Linux with Landlock and seccomp; on other systems, Gaps reports
// the missing cage.
//
// A Cage is created from a Policy, once for a run. A child enters it by starting raymond as a wrapper
// (package entry), which applies the restrictions to itself and then executes the child's program. This
// process stays outside of the cage and decides about system calls whose arguments seccomp can't check
// (package warden).
package cage

// Policy lists what caged processes may do. Paths are absolute. Symbolic links in them are followed before a
// child enters the cage, never later.
type Policy struct {
	// Readable files and directories may be read, with everything below them. Only these and Writable may be
	// read. nil allows everything.
	Readable []string
	// Hidden files and directories, with everything below them, can't be read although they are below a
	// Readable directory. Paths in Readable or Writable that are below a hidden one stay accessible.
	Hidden []string
	// IsTrusted is for trusted scripts, which must not come into contact with files of agents: all readable
	// paths can also be written, and only access to files is restricted.
	IsTrusted bool
	// Writable files and directories may be read and written, with everything below them. Paths that don't
	// exist are ignored. Nothing below a writable directory is hidden.
	Writable []string
	Network  Network
	// OnEnd is called when a child and all its descendants have ended. It may be nil.
	OnEnd func()
}

// Network says to which addresses caged processes may connect.
type Network struct {
	// IsOpen allows all addresses, and UDP. Otherwise caged processes reach only Ports, and ports of
	// 127.0.0.1 and ::1 on which they listen themselves.
	IsOpen bool
	// Ports are ports of 127.0.0.1, for example the ports of raymond's proxies.
	Ports []uint16
	// OnRefused reports each refused connection. Several goroutines may call it at once. It may be nil.
	// target is an address or the path of a unix socket.
	OnRefused func(target string)
}
