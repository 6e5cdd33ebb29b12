package cage

import "sync"

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
