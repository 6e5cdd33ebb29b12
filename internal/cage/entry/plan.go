// Package entry is how a process gets into a cage: it takes a Plan, puts the cage on
// itself and becomes another program.
//
// The program starts itself for that, as "raymond cage --plan=3 -- NAME ARGS", with a
// socket as descriptor 3 that the plan comes from. An init function sees to it before
// the rest of the program is set up, which would take longer than all that is done
// here.
package entry

import (
	"encoding/json"
	"io"
)

// Plan says what a process puts on before it becomes another program.
type Plan struct {
	Path []byte // of the program; JSON would change what is no UTF-8 in a string
	// Mark is a number that everything in the cage carries, as limits of a resource
	// that nobody uses (RLIMIT_RTTIME), and that can't be taken off. 0 is none.
	Mark uint64
	// FS, Net and Scoped are what Landlock handles, as sets of its rights, which are
	// refused but where Rules and Ports allow them. All zero: no Landlock.
	FS, Net, Scoped uint64
	Rules           []Rule
	Ports           []uint16 // that TCP may connect to, if Net has that right
	// IsTrusted says that the process keeps what privileges it has, as far as Landlock lets it.
	IsTrusted bool
	// Filter is a program of seccomp, as the kernel has it; Alone is another one that needs nobody who
	// decides, for when a cage is inside another one that has somebody. nil: none.
	Filter, Alone []byte
}

// Rule is one rule of Landlock. A path that doesn't exist, or is a link, gets none.
type Rule struct {
	Path   []byte
	Access uint64
}

// WritePlan sends a plan to the process that is to take it.
func WritePlan(w io.Writer, p *Plan) error { return json.NewEncoder(w).Encode(p) }
