package insight

import (
	"github.com/raymond-action/raymond-action/state"
)

// The statuses of agents, besides those of executions.
const (
	agentWaits = "waiting"
	agentEnded = "ended"
)

// agents are the agents of a run, in the order in which they came.
type agents struct {
	all  []*Agent
	byID map[string]*Agent
}

func (as *agents) of(id string) *Agent {
	a := as.byID[id]
	if a == nil {
		a = &Agent{ID: id, Status: Running}
		as.byID[id] = a
		as.all = append(as.all, a)
	}
	return a
}

// add takes an event of an agent.
func (as *agents) add(e state.Event) {
	a := as.of(e.Agent)
	switch b := e.Body.(type) {
	case *state.AgentStarted:
		a.Parent, a.Vars = b.Parent, b.Vars
	case *state.AgentFinished:
		a.Status, a.Error = agentEnded, b.Error
		if b.Error != "" {
			a.Status = Failed
		}
		if b.Result != nil {
			a.Result = string(*b.Result)
		}
	case *state.AgentWaits:
		a.Status = agentWaits
	case *state.StateStarted, *state.AgentGoesOn:
		a.Status, a.Error = Running, ""
	}
}

// addState takes an agent that has not ended.
func (as *agents) addState(s *state.Agent, hide func(string) string) {
	a := as.of(s.ID)
	a.Parent = s.Parent
	if a.Vars == nil {
		a.Vars = hidden(s.Vars, hide)
	}
	switch s.Status {
	case state.Stuck:
		a.Status = Failed
		if a.Error == "" && s.Failure != nil {
			a.Error = hide(s.Failure.Message)
		}
	case state.Waiting:
		a.Status = agentWaits
	default:
		a.Status = Running
	}
}

// addEnding takes an agent that has ended and of which no event tells.
func (as *agents) addEnding(e state.Ending, hide func(string) string) {
	if as.byID[e.Agent] != nil {
		return
	}
	a := as.of(e.Agent)
	a.Parent, a.Status, a.Result, a.Error = e.Parent, agentEnded, hide(string(e.Result)), hide(e.Error)
	if a.Error != "" {
		a.Status = Failed
	}
}

// rows returns the agents with what their executions cost.
func (as *agents) rows(execs []Exec) []Agent {
	for i := range execs {
		a := as.of(execs[i].Agent)
		a.Spent = a.Spent.plus(execs[i].Spent)
	}
	rows := make([]Agent, 0, len(as.all))
	for _, a := range as.all {
		rows = append(rows, *a)
	}
	return rows
}
