package state

import "fmt"

// Place is a field of a run that names a state.
type Place struct {
	Field string // as in "agents[0].stack[2].state"
	State string // resolved file name
}

// Places returns the states that agents are in, those that they return to, those that
// they move to if their attempt passes, and those that come when nobody answers a question.
func (r *Run) Places() []Place {
	var places []Place
	for i, a := range r.Agents {
		at := fmt.Sprintf("agents[%d]", i)
		places = append(places, Place{at + ".state", a.State})
		for j, f := range a.Stack {
			places = append(places, Place{fmt.Sprintf("%s.stack[%d].state", at, j), f.State})
		}
		if q := a.asks(); q != nil && q.TimeoutNext != "" {
			places = append(places, Place{at + ".waits.question.timeout_next", q.TimeoutNext})
		}
		if a.Exec != nil && a.Exec.Asked != nil {
			places = append(places, a.Exec.awaited(at+".exec.asked")...)
		}
	}
	return places
}

// awaited returns the states in the move that waits for a verdict.
func (e *Exec) awaited(at string) []Place {
	var places []Place
	add := func(field, name string) {
		if name != "" {
			places = append(places, Place{at + field, name})
		}
	}
	add(".then.to", e.Asked.Then.To)
	add(".then.return", e.Asked.Then.Return)
	if q := e.Asked.Then.Question; q != nil {
		add(".then.question.timeout_next", q.TimeoutNext)
	}
	for i, f := range e.Asked.Spawns {
		add(fmt.Sprintf(".spawns[%d].state", i), f.State)
		add(fmt.Sprintf(".spawns[%d].next", i), f.Next)
	}
	return places
}
