package state

import (
	"iter"
	"slices"
	"time"
)

// members returns the agents that the step is about, those of a part of a matrix or all, in order
// of creation. They must not be changed.
func (d *draft) members() iter.Seq[*Agent] {
	if d.part == nil {
		return d.Agents()
	}
	return func(yield func(*Agent) bool) {
		for a := range d.Agents() {
			if d.isMember(a) && !yield(a) {
				return
			}
		}
	}
}

// isMember reports whether the step is about an agent: it was handed over, or has been forked by one of the members.
func (d *draft) isMember(a *Agent) bool {
	for d.part != nil && !slices.Contains(d.part, a.ID) {
		parent, alive := d.Agent(a.Parent)
		if !alive {
			return slices.ContainsFunc(d.part, func(id string) bool { return isOf(a.Parent, id) })
		}
		a = parent
	}
	return true
}

// earliest returns the earliest time that a wait of the members has which counts; zero when none has.
func (d *draft) earliest(counts func(*Waits) bool) time.Time {
	var first time.Time
	for a := range d.members() {
		if w := a.Waits; w != nil && !w.Until.IsZero() && (first.IsZero() || w.Until.Before(first)) && counts(w) {
			first = w.Until
		}
	}
	return first
}
