package state

import (
	"iter"
	"slices"
	"time"
)

// members returns the agents that the step may change, in order of creation. These are all agents, or the
// agents of the part to which the step is restricted. The caller must not change them.
func (s *Step) members() iter.Seq[*Agent] {
	if s.part == nil {
		return s.Agents()
	}
	return func(yield func(*Agent) bool) {
		for a := range s.Agents() {
			if s.isMember(a) && !yield(a) {
				return
			}
		}
	}
}

// isMember reports whether the step may change an agent. If the step is restricted to a part, the agent
// must have been handed over to the part, or must descend from such agents and be newer than the part.
// Agents that were forked earlier may belong to another part.
func (s *Step) isMember(a *Agent) bool {
	if s.part == nil || slices.Contains(s.part, a.ID) {
		return true
	}
	own, _ := s.run.Parts.OwnPart()
	isNew := own.Start == nil || a.N > own.Start.Created
	return isNew && slices.ContainsFunc(s.part, func(id string) bool { return isOf(a.ID, id) })
}

// earliest returns the earliest time at which a wait of a member ends. It considers only waits for which
// counts returns true. Without such a wait, it returns the zero time.
func (s *Step) earliest(counts func(*WaitCondition) bool) time.Time {
	var first time.Time
	for a := range s.members() {
		if w := a.Waits; w != nil && !w.Until.IsZero() && (first.IsZero() || w.Until.Before(first)) && counts(w) {
			first = w.Until
		}
	}
	return first
}
