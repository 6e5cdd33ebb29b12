package state

import "slices"

// group is the set of agents that a step may change.
type group struct {
	part []string // ids of the agents that were handed over to a part of a matrix; nil for the whole run
	// created is the number of agents that existed when the part began. It is 0 outside the run of a part.
	created int
}

// has reports whether the step may change an agent. In a part, the agent must have been handed over to
// the part, or must descend from such agents and be newer than the part. Agents that were forked earlier
// may belong to another part.
func (g group) has(a *Agent) bool {
	return g.part == nil || slices.Contains(g.part, a.ID) ||
		a.N > g.created && slices.ContainsFunc(g.part, func(id string) bool { return isOf(a.ID, id) })
}

// Restrict limits the step to a part of a matrix: to the named agents and the agents that they fork. The
// step does not change other agents. If part is nil, the step is not limited.
func (s *Step) Restrict(part []string) {
	s.group = group{part: part}
	if own, ok := s.run.Parts.OwnPart(); ok {
		s.group.created = own.Start.Created
	}
}
