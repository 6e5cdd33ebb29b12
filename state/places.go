package state

import (
	"fmt"
	"reflect"
)

// StateRef is a field of a run that names a state.
type StateRef struct {
	Field string // as in "agents[0].stack[2].state"
	State string // resolved file name
}

// StateRefs returns the states that agents are in, those that they return to, those that
// they move to if their attempt passes, and those that come when nobody answers a question.
func (r *Run) StateRefs() []StateRef {
	var places []StateRef
	for i, a := range r.Agents {
		eachField(reflect.ValueOf(a), "", fmt.Sprintf("agents[%d]", i), func(v reflect.Value, is, at string) {
			if (is == "file" || is == "file?") && v.String() != "" {
				places = append(places, StateRef{at, v.String()})
			}
		})
	}
	return places
}
