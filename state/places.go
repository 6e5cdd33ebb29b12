package state

import (
	"fmt"
	"reflect"
)

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
		eachField(reflect.ValueOf(a), "", fmt.Sprintf("agents[%d]", i), func(v reflect.Value, is, at string) {
			if (is == "file" || is == "file?") && v.String() != "" {
				places = append(places, Place{at, v.String()})
			}
		})
	}
	return places
}
