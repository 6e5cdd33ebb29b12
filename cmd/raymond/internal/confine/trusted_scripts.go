package confine

import (
	"path/filepath"
	"slices"

	"github.com/raymond-action/raymond-action/internal/cage"
	"github.com/raymond-action/raymond-action/runner"
)

// PrivateDir returns a directory of the run that programs in a cage can't see; "" without a cage. Close removes it.
func (c *Cages) PrivateDir() string { return c.private }

// Trusted implements runner.Cages: the script sees no file that an agent can have written.
func (c *Cages) Trusted(s runner.ScriptOrder) *cage.Cage {
	if c.isOff || c.neverHasAgents {
		return nil
	}
	if c.whyNone != "" {
		c.notices.note("cage: " + "the trusted script " + filepath.Base(s.Path) + " can access files of agents: " + c.whyNone)
		return nil
	}
	return cage.New(cage.Policy{IsTrusted: true, Hidden: c.agentPaths(), Network: cage.Network{IsOpen: true}})
}

// agentPaths returns the paths that agents can write.
func (c *Cages) agentPaths() []string {
	isDevice := func(path string) bool { return cage.IsWithin(path, "/dev") && path != "/dev/shm" }
	c.mu.Lock()
	defer c.mu.Unlock()
	return append(slices.DeleteFunc(slices.Clone(c.policy.Writable), isDevice), c.worktrees...)
}
