// Package cage confines a child process and all processes that it starts. It limits which files they
// read and write, which other processes they can affect, and to which addresses they connect. It needs
// Linux with Landlock and seccomp, but neither root nor containers nor namespaces. On other systems,
// Gaps reports that there is no cage.
//
// A Cage is created from a Policy, once for each run. To enter it, a child first starts as raymond (package
// entry), which applies the restrictions to itself and then executes the child's program. The process that
// started the child stays outside of the cage. There, package warden decides about system calls whose
// arguments seccomp can't check.
package cage

import (
	"sync"
)

// Gap is a part of a policy that this system can't enforce.
type Gap struct {
	Text string // a description in one line
	Hint string // how to close the gap, in one line; "" if it can't be closed
	// IsMajor is true if a whole kind of protection is missing: of files, of processes or of the network.
	IsMajor bool
	// IsWarning is true if users should be warned: either they requested something that the system can't
	// provide, or agents will fail.
	IsWarning bool
}

// Cage confines child processes according to a policy. Several goroutines may use it at the same time. A nil
// *Cage confines nothing.
type Cage struct {
	policy  Policy
	filters func() (filters, error)
}

// The filters depend only on whether the network is open, so all cages share these two.
var (
	openFilters   = sync.OnceValues(func() (filters, error) { return makeFilters(true) })
	closedFilters = sync.OnceValues(func() (filters, error) { return makeFilters(false) })
)

// New returns a cage for a policy. The policy's paths are resolved again for each child.
func New(p Policy) *Cage {
	if p.Network.IsOpen {
		return &Cage{policy: p, filters: openFilters}
	}
	return &Cage{policy: p, filters: closedFilters}
}

// Unavailable returns a cage whose Enter always fails with the given error.
func Unavailable(why error) *Cage {
	return &Cage{policy: Policy{Readable: []string{}}, filters: func() (filters, error) { return filters{}, why }}
}

// Policy returns the policy of the cage.
func (c *Cage) Policy() Policy { return c.policy }

// Command is a program to run.
type Command struct {
	Path string   // path of the program's file
	Args []string // the arguments, beginning with the program's name
	Env  []string
}

// Policy defines what caged processes may do. Paths are absolute. Symbolic links in them are resolved
// when a child enters the cage, and not again later.
type Policy struct {
	// Readable lists files and directories that may be read, with everything below them. Everything else,
	// except Writable, can't be read. If Readable is nil, everything may be read.
	Readable []string
	// Hidden lists files and directories that can't be read although they are below a Readable directory.
	// Everything below them is hidden too, except paths in Readable or Writable.
	Hidden []string
	// IsTrusted is true for trusted scripts, which must not use files that agents wrote. All readable paths
	// can then also be written, and only access to files is restricted.
	IsTrusted bool
	// Writable lists files and directories that may be read and written, with everything below them. Paths
	// that don't exist are ignored. Hidden has no effect below a writable directory.
	Writable []string
	Network  Network
	// OnEnd is called after a child and all its descendants have ended. It may be nil.
	OnEnd func()
}

// Network defines to which addresses caged processes may connect.
type Network struct {
	// IsOpen allows all addresses and UDP. If it is false, caged processes reach only Ports and the ports of
	// 127.0.0.1 and ::1 on which caged processes listen.
	IsOpen bool
	// Ports lists allowed ports of 127.0.0.1, for example the ports of raymond's proxies.
	Ports []uint16
	// OnRefused is called for each denied connection. target is an address or the path of a unix socket.
	// Several goroutines may call OnRefused at the same time. It may be nil.
	OnRefused func(target string)
}
