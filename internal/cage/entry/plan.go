// Package entry lets a process enter a cage: the process receives a Plan, applies it to itself and
// executes another program.
//
// For that raymond starts itself as "raymond cage --plan=3 -- NAME ARGS", with a socket as
// descriptor 3 that delivers the plan. An init function handles this command before the rest of
// raymond is initialized, which would take longer than everything that this package does.
package entry

import (
	"encoding/json"
	"io"
)

// Plan lists the restrictions that a process applies to itself before it executes another program.
type Plan struct {
	Path []byte // of the program; bytes, because JSON would replace invalid UTF-8 in a string
	// Mark is a number that every process in the cage carries as its soft and hard limit of a
	// resource that no program uses (RLIMIT_RTTIME). The filter keeps processes from changing that
	// limit. 0 means no mark.
	Mark uint64
	// FS, Net and Scoped are the sets of rights that Landlock handles: it refuses all of them
	// except where Rules and Ports allow them. If all three are zero, Landlock isn't used.
	FS, Net, Scoped uint64
	Rules           []Rule
	Ports           []uint16 // that TCP may connect to, if Net handles that right
	// IsTrusted lets the process keep its privileges as far as Landlock permits that.
	IsTrusted bool
	// Filter is a seccomp program in the kernel's format. Alone replaces it in a cage inside another
	// cage whose listener exists already: it never asks a listener. Both may be nil.
	Filter, Alone []byte
}

// Rule allows access below a path. A path that doesn't exist or is a symbolic link is ignored.
type Rule struct {
	Path   []byte
	Access uint64
}

// WritePlan sends a plan to the process that is to apply it.
func WritePlan(w io.Writer, p *Plan) error { return json.NewEncoder(w).Encode(p) }
