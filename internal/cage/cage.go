package cage

import "sync"

// Gap is a part of a policy that this system can't enforce.
type Gap struct {
	Text string // one line
	Hint string // how to close the gap, one line; "" if nothing can
	// IsMajor is true if files, processes or the network can't be confined at all.
	IsMajor bool
	// IsWarning is true if users should be warned: the system can't provide something that they rely on,
	// or agents will fail because of it.
	IsWarning bool
}

// Cage confines child processes according to a policy. Many goroutines may use it at the same time. A nil
// *Cage confines nothing.
type Cage struct {
	policy  Policy
	filters func() (filters, error)
}

// The filters depend only on the network, so all cages share them.
var (
	openFilters   = sync.OnceValues(func() (filters, error) { return makeFilters(true) })
	closedFilters = sync.OnceValues(func() (filters, error) { return makeFilters(false) })
)

// New returns a cage for a policy. The paths of the policy are resolved again for each child.
func New(p Policy) *Cage {
	if p.Network.IsOpen {
		return &Cage{policy: p, filters: openFilters}
	}
	return &Cage{policy: p, filters: closedFilters}
}

// Unavailable returns a cage in which no process can be started, for the given reason.
func Unavailable(why error) *Cage {
	return &Cage{policy: Policy{Readable: []string{}}, filters: func() (filters, error) { return filters{}, why }}
}

// Policy returns the policy of the cage.
func (c *Cage) Policy() Policy { return c.policy }

// Command is a program to run.
type Command struct {
	Path string   // the file
	Args []string // including the name of the program as the first element
	Env  []string
}
