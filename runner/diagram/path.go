package diagram

import (
	"slices"

	"github.com/raymond-action/raymond-action/state"
)

// Path is what a run did, as far as a diagram shows it.
type Path struct {
	States   map[string]int // executions begun
	Attempts map[string]int // attempts of them that commands judged
	Moves    map[Move]int
	Agents   []Agent
	IsOver   bool // the run ended or was suspended
}

// Move is a transition between two states.
type Move struct {
	From, To string // To is "" for the end of an agent
	Kind     Kind
}

// Agent is where an agent of the run is that has not ended with a result.
type Agent struct {
	State    string
	IsFailed bool
	Waits    state.WaitFor // what it waits for before the state starts; "" for nothing
}

// presence is who is at a state.
type presence struct {
	works, failed bool
	waits         []state.WaitFor // what agents wait for before it starts, each once
}

// at returns who is at a state.
func (p *Path) at(name string) presence {
	var here presence
	for _, a := range p.Agents {
		switch {
		case a.State != name:
		case a.IsFailed:
			here.failed = true
		case a.Waits == "":
			here.works = true
		case !slices.Contains(here.waits, a.Waits):
			here.waits = append(here.waits, a.Waits)
		}
	}
	slices.Sort(here.waits)
	return here
}
