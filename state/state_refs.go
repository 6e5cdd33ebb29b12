package state

import (
	"fmt"
	"reflect"
)

// StateRef is a field of a run that contains the name of a state.
type StateRef struct {
	Field string // path of the field, for example "agents[0].stack[2].state"
	State string // file name of the state
}

// StateRefs returns all references from agents to states: their current states, return states, the
// targets of pending moves, and the states after the timeouts of questions.
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
