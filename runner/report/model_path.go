package report

import (
	"github.com/raymond-action/raymond-action/runner/diagram"
	"github.com/raymond-action/raymond-action/state"
)

// Path is what the run did, for a diagram.
func (m *Model) Path() *diagram.Path {
	p := &diagram.Path{States: map[string]int{}, Attempts: m.attempts, Moves: m.moves, IsOver: m.Ending != nil}
	for name, sum := range m.byState {
		p.States[name] = sum.Executions
	}
	for _, a := range m.Agents {
		if a.Status != agentEnded {
			p.Agents = append(p.Agents, diagram.Agent{State: a.State, IsFailed: a.Status == Failed, Waits: m.wait(a.ID).For})
		}
	}
	return p
}

// countMove counts a transition of an execution, which may be in no log. Several forks of one answer
// are one move of their parent, and a move after a failure is not the agent's choice.
func (m *Model) countMove(x *Exec, b *state.Transition) {
	move := diagram.Move{From: b.From, To: b.Target, Kind: diagram.Kind(b.Tag)}
	switch {
	case move.Kind == diagram.Fork:
		if x == nil || x.moves == 1 {
			m.moves[diagram.Move{From: b.From, To: b.Next, Kind: diagram.Next}]++
		}
	case x != nil && x.Status == Failed:
		move.Kind = diagram.Exhausted
	}
	m.moves[move]++
}

// countTimeout moves what the transition of a question has said to the state that starts when nobody
// has answered it.
func (m *Model) countTimeout(a *Agent, next string) {
	if m.ended.For != state.ForAnswer || m.ended.State == next || a.move == nil {
		return
	}
	asked := diagram.Move{From: a.move.From, To: m.ended.State, Kind: diagram.Ask}
	if m.moves[asked]--; m.moves[asked] <= 0 {
		delete(m.moves, asked)
	}
	m.moves[diagram.Move{From: a.move.From, To: next, Kind: diagram.TimedOut}]++
}
