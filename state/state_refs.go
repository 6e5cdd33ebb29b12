package state

import (
	"fmt"
	"reflect"
)

// StateRef is a field of a run that names a state.
type StateRef struct {
	Field string // like "agents[0].stack[2].state"
	State string // file name of the state
}

// StateRefs returns all references from agents to states: the present state, return states, the target of
// a pending move, and the state after the timeout of a question.
func (r *Run) StateRefs() []StateRef {
	var places []StateRef
	for i, a := range r.Agents {
		eachField(reflect.ValueOf(a), "", fmt.Sprintf("agents[%d]", i), func(v reflect.Value, rule, at string) {
			if (rule == "file" || rule == "file?") && v.String() != "" {
				places = append(places, StateRef{at, v.String()})
			}
		})
	}
	return places
}
