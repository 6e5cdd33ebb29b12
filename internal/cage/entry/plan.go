// Package entry lets a process enter a cage: the process receives a Plan, applies it to itself and
// executes another program.
//
// For that, raymond starts itself as "raymond cage --plan=3 -- NAME ARGS", with a socket for the plan as
// descriptor 3. An init function handles this command. It runs before the rest of raymond is initialized,
// because that initialization would take longer than entering the cage.
package entry

import (
	"encoding/json"
	"io"
)

// Plan lists the restrictions that a process applies to itself before it executes another program.
type Plan struct {
	// Path is the program's path. It is not a string, because JSON would replace invalid UTF-8.
	Path []byte
	// Mark is a number that identifies the processes in the cage. It is the soft and the hard limit
	// RLIMIT_RTTIME of each of them, because no program uses that resource limit. The filter prevents
	// processes from changing the limit. If Mark is 0, the limit isn't set.
	Mark uint64
	// FS, Net and Scoped are the sets of rights that Landlock handles. Landlock denies these rights except
	// where Rules and Ports grant them. If all three are zero, Landlock isn't used.
	FS, Net, Scoped uint64
	Rules           []Rule
	// Ports are the TCP ports to which the process may connect. They are used only if Net contains the right
	// to connect.
	Ports []uint16
	// IsTrusted is true if the process keeps its privileges. It then sets no_new_privs only if the kernel
	// requires that for Landlock.
	IsTrusted bool
	// Filter is a seccomp program in the kernel's format. Alone is used instead of it if the thread can't have
	// a listener, for example inside another cage that has one. Alone never uses a listener. Both may be nil.
	Filter, Alone []byte
}

// Rule grants access to a path and everything below it. A path that doesn't exist or is a symbolic link is
// ignored.
type Rule struct {
	Path   []byte
	Access uint64
}

// WritePlan sends a plan to the process that applies it.
func WritePlan(w io.Writer, p *Plan) error { return json.NewEncoder(w).Encode(p) }
