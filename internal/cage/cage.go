package cage

import "sync"

// Gap is something of a policy that this system can't hold.
type Gap struct {
	Text string // one line
	Hint string // what would hold it, one line; "" where nothing does
	// IsMajor says that files, processes or the network can't be held.
	IsMajor bool
	// IsWarning says that whoever runs agents should be warned: something of what they rely on is missing, or agents
	// will fail because of it.
	IsWarning bool
}

// Cage is a policy, ready for children. It may be used by many goroutines. A nil
// Cage is none.
type Cage struct {
	policy  Policy
	filters func() (filters, error)
}

// All cages with the same network have the same filters.
var (
	openFilters = sync.OnceValues(func() (filters, error) { return makeFilters(true) })
	heldFilters = sync.OnceValues(func() (filters, error) { return makeFilters(false) })
)

// New makes a cage. What the policy says of files is looked up anew for each child.
func New(p Policy) *Cage {
	if p.Network.IsOpen {
		return &Cage{policy: p, filters: openFilters}
	}
	return &Cage{policy: p, filters: heldFilters}
}

// Unavailable returns a cage that nobody gets into, for the reason given.
func Unavailable(why error) *Cage {
	return &Cage{policy: Policy{Readable: []string{}}, filters: func() (filters, error) { return filters{}, why }}
}

// Policy returns what the cage was made of.
func (c *Cage) Policy() Policy { return c.policy }

// Command is a program to run.
type Command struct {
	Path string   // the file
	Args []string // beginning with its name
	Env  []string
}
