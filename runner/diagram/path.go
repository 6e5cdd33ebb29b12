package diagram

import (
	"slices"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/state"
)

// Path is what a run did, as far as a diagram shows it. The zero Path is ready
// to use. It is not safe for concurrent use.
type Path struct {
	states   map[string]int // executions begun
	attempts map[string]int // attempts of them that commands judged
	moves    map[move]int
	agents   map[string]*agent // those that have not ended with a result
	over     bool              // the run ended or was suspended
}

// move is one transition between two states.
type move struct {
	from, to string // to is "" for the end of an agent
	kind     kind
}

// agent is where one agent of the run is.
type agent struct {
	state  string
	open   bool // an execution of state is under way
	gaveUp bool // the last execution failed, so the next move is not the agent's choice
	forked bool // the move to the state after the fork is counted already
	failed bool
	waits  state.WaitFor // what it waits for before state starts; "" for nothing
	asked  string        // the state that asked the question whose answer it waits for
}

// Add takes the next event of the run, in the order of their numbers. It ignores
// events that don't change the path.
func (p *Path) Add(e state.Event) {
	if p.states == nil {
		p.states, p.attempts, p.moves, p.agents = map[string]int{}, map[string]int{}, map[move]int{}, map[string]*agent{}
	}
	switch b := e.Body.(type) {
	case *state.RunStarted:
		p.over = false
	case *state.RunFinished:
		p.over = true
	case *state.AgentStarted:
		p.agents[e.Agent] = &agent{state: e.State}
	case *state.StateStarted:
		p.start(e)
	case *state.StateFinished:
		a := p.agent(e)
		a.open, a.gaveUp = false, !b.OK
	case *state.NodeAttempt:
		p.attempts[e.State]++
	case *state.Transition:
		p.move(p.agent(e), b)
	case *state.AgentWaits:
		p.agent(e).waits = b.For
	case *state.AgentGoesOn:
		p.endWait(p.agent(e), e.State)
	case *state.AgentFinished:
		p.agent(e).failed = b.Error != ""
		if b.Error == "" {
			delete(p.agents, e.Agent)
		}
	}
}

func (p *Path) agent(e state.Event) *agent {
	a := p.agents[e.Agent]
	if a == nil {
		a = &agent{state: e.State}
		p.agents[e.Agent] = a
	}
	return a
}

// start counts an execution. If it was interrupted and is repeated, it counts once.
func (p *Path) start(e state.Event) {
	a := p.agent(e)
	if !a.open || a.state != e.State {
		p.states[e.State]++
	}
	*a = agent{state: e.State, open: true}
}

func (p *Path) move(a *agent, t *state.Transition) {
	k := kindOf[protocol.Verb(t.Tag)]
	a.open = false
	switch {
	case k == fork:
		p.moves[move{t.From, t.Target, fork}]++
		if !a.forked { // several forks of one message are one move of their parent
			p.moves[move{t.From, t.Next, next}]++
		}
		a.state, a.forked = t.Next, true
		return
	case a.gaveUp:
		k = exhausted
	}
	p.moves[move{t.From, t.Target, k}]++
	a.state = t.Target
	if k == ask {
		a.asked = t.From
	}
}

// endWait notes that an agent no longer waits, and which state starts. It is another one
// than the question's transition has said when nobody has answered.
func (p *Path) endWait(a *agent, next string) {
	if a.waits == state.ForAnswer && a.asked != "" && next != a.state {
		said := move{a.asked, a.state, ask}
		if p.moves[said]--; p.moves[said] <= 0 {
			delete(p.moves, said)
		}
		p.moves[move{a.asked, next, timedOut}]++
	}
	a.state, a.waits, a.asked = next, "", ""
}

// presence is who is at a state.
type presence struct {
	works, failed bool
	waits         []state.WaitFor // what agents wait for before it starts, each once
}

// at returns who is at a state.
func (p *Path) at(name string) presence {
	var here presence
	for _, a := range p.agents {
		switch {
		case a.state != name:
		case a.failed:
			here.failed = true
		case a.waits == "":
			here.works = true
		case !slices.Contains(here.waits, a.waits):
			here.waits = append(here.waits, a.waits)
		}
	}
	slices.Sort(here.waits)
	return here
}
