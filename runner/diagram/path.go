package diagram

import (
	"slices"

	"github.com/raymond-action/raymond-action/state"
)

// Path is the part of a run's history that a diagram shows.
type Path struct {
	States   map[string]int // number of state executions that have started, by state
	Attempts map[string]int // number of attempts that done_when commands have judged, by state
	Moves    map[Move]int
	Agents   []Agent
	IsOver   bool // the run has ended or is suspended
}

// Move is a transition from one state to another.
type Move struct {
	From, To string // To is empty if the agent ended
	Kind     Kind
}

// Agent describes at which state an agent is. Only agents that have not ended are listed.
type Agent struct {
	State    string
	IsFailed bool
	// Waits is the reason for which the agent waits before the state starts. It is empty if the
	// agent does not wait.
	Waits state.WaitFor
}

// presence describes the agents that are at one state.
type presence struct {
	hasWorking, hasFailed bool
	// waits contains the reasons for which agents wait before the state starts, without duplicates.
	waits []state.WaitFor
}

// at returns which agents are at a state, and whether they work, wait or have failed.
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
