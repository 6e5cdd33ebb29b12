package state

import (
	"iter"
	"slices"
	"time"
)

// members are the agents that a step is about: those of a part of a matrix, or all.
type members struct {
	draft *draft
	part  []string // the agents that were handed over to the part; nil for the whole run
}

// all returns the agents in order of creation. They must not be changed.
func (m members) all() iter.Seq[*Agent] {
	if m.part == nil {
		return m.draft.agents()
	}
	return func(yield func(*Agent) bool) {
		for a := range m.draft.agents() {
			if m.has(a) && !yield(a) {
				return
			}
		}
	}
}

// has reports whether an agent was handed over, or has been forked by one of the members.
func (m members) has(a *Agent) bool {
	for m.part != nil && !slices.Contains(m.part, a.ID) {
		parent, alive := m.draft.agent(a.Parent)
		if !alive {
			return slices.ContainsFunc(m.part, func(id string) bool { return isOf(a.Parent, id) })
		}
		a = parent
	}
	return true
}

// earliest returns the earliest time that a wait has which counts; zero when none has.
func (m members) earliest(counts func(*Waits) bool) time.Time {
	var first time.Time
	for a := range m.all() {
		if w := a.Waits; w != nil && !w.Until.IsZero() && (first.IsZero() || w.Until.Before(first)) && counts(w) {
			first = w.Until
		}
	}
	return first
}
