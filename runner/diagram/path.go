package diagram

import (
	"slices"

	"github.com/raymond-action/raymond-action/state"
)

// Path is the history of a run, as far as a diagram shows it.
type Path struct {
	States   map[string]int // state executions that have started
	Attempts map[string]int // attempts that done_when commands have judged
	Moves    map[Move]int
	Agents   []Agent
	IsOver   bool // the run has ended or is suspended
}

// Move is a transition between two states.
type Move struct {
	From, To string // To is "" if the agent ended
	Kind     Kind
}

// Agent is the position of an agent that has not ended with a result.
type Agent struct {
	State    string
	IsFailed bool
	Waits    state.WaitFor // reason why the agent waits before the state starts; "" if it doesn't wait
}

// presence describes the agents at a state.
type presence struct {
	hasWorking, hasFailed bool
	waits                 []state.WaitFor // what agents wait for before the state starts, without duplicates
}

// at describes the agents at a state.
func (p *Path) at(name string) presence {
	var here presence
	for _, a := range p.Agents {
		switch {
		case a.State != name:
		case a.IsFailed:
			here.hasFailed = true
		case a.Waits == "":
			here.hasWorking = true
		case !slices.Contains(here.waits, a.Waits):
			here.waits = append(here.waits, a.Waits)
		}
	}
	slices.Sort(here.waits)
	return here
}
