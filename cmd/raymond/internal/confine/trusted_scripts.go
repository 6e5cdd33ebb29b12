package confine

import (
	"path/filepath"
	"slices"

	"github.com/raymond-action/raymond-action/internal/cage"
	"github.com/raymond-action/raymond-action/runner"
)

// PrivateDir returns a temporary directory of the run, which Close removes. Programs in a cage can't write
// there, and can read only its subdirectory scope. PrivateDir returns "" if the cage is off or agents may
// gain privileges.
func (c *Cages) PrivateDir() string { return c.private }

// Trusted implements runner.Cages. In the cage, the script can't see files that an agent may have written.
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

// agentPaths returns the paths that agents can write, including worktrees that they were given.
func (c *Cages) agentPaths() []string {
	isDevice := func(path string) bool { return cage.IsWithin(path, "/dev") && path != "/dev/shm" }
	c.mu.Lock()
	defer c.mu.Unlock()
	return append(slices.DeleteFunc(slices.Clone(c.policy.Writable), isDevice), c.worktrees...)
}
