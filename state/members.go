package state

import (
	"iter"
	"slices"
	"time"
)

// members returns the agents that the step is about, those of a part of a matrix or all, in order
// of creation. They must not be changed.
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

// isMember reports whether the step is about an agent: it was handed over, or has been forked since the part began
// by one of the members. Those that were forked before may be another part's.
func (s *Step) isMember(a *Agent) bool {
	if s.part == nil || slices.Contains(s.part, a.ID) {
		return true
	}
	own, _ := s.run.Parts.OwnPart()
	isNew := own.Start == nil || a.N > own.Start.Created
	return isNew && slices.ContainsFunc(s.part, func(id string) bool { return isOf(a.ID, id) })
}

// earliest returns the earliest time that a wait of the members has which counts; zero when none has.
func (s *Step) earliest(counts func(*WaitCondition) bool) time.Time {
	var first time.Time
	for a := range s.members() {
		if w := a.Waits; w != nil && !w.Until.IsZero() && (first.IsZero() || w.Until.Before(first)) && counts(w) {
			first = w.Until
		}
	}
	return first
}
