package confine

import (
	"path/filepath"
	"slices"

	"github.com/raymond-action/raymond-action/internal/cage"
	"github.com/raymond-action/raymond-action/runner"
)

// PrivateDir is a folder of the run that nobody in a cage sees, which Close removes; "" without a cage.
func (c *Cages) PrivateDir() string { return c.private }

// Trusted implements runner.Cages: such a script comes across nothing that an agent can have written.
func (c *Cages) Trusted(s runner.ScriptOrder) *cage.Cage {
	if c.isOff || c.isClean {
		return nil
	}
	if c.none != "" {
		c.told.note("cage: " + filepath.Base(s.Path) + " can come across files of agents: " + c.none)
		return nil
	}
	return cage.New(cage.Policy{IsTrusted: true, Hidden: c.agents(), Network: cage.Network{IsOpen: true}})
}

// agents are the places that agents can write.
func (c *Cages) agents() []string {
	isDevice := func(path string) bool { return cage.IsWithin(path, "/dev") && path != "/dev/shm" }
	c.mu.Lock()
	defer c.mu.Unlock()
	return append(slices.DeleteFunc(slices.Clone(c.policy.Writable), isDevice), c.worktrees...)
}
