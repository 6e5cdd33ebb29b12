package report

import (
	"github.com/raymond-action/raymond-action/runner/diagram"
	"github.com/raymond-action/raymond-action/state"
)

// Path returns the path of the run for a diagram.
func (m *Model) Path() *diagram.Path {
	p := &diagram.Path{States: map[string]int{}, Attempts: m.attempts, Moves: m.moves, IsOver: m.Ending != nil}
	for name, sum := range m.byState {
		p.States[name] = sum.Executions
	}
	for _, a := range m.Agents {
		if a.Status != statusEnded {
			p.Agents = append(p.Agents, diagram.Agent{State: a.State, IsFailed: a.Status == Failed, Waits: m.currentWait(a.ID).For})
		}
	}
	return p
}

// countTransition counts a transition. The forks of one answer count as a single move of their
// parent, and a transition after a failure is not the agent's choice. x is nil if no event has
// reported the execution.
func (m *Model) countTransition(x *Exec, b *state.Transition) {
	move := diagram.Move{From: b.From, To: b.Target, Kind: diagram.Kind(b.Tag)}
	switch {
	case move.Kind == diagram.Fork:
		if x == nil || x.transitionCount == 1 {
			m.moves[diagram.Move{From: b.From, To: b.Next, Kind: diagram.Next}]++
		}
	case x != nil && x.Status == Failed:
		move.Kind = diagram.Exhausted
	}
	m.moves[move]++
}

// countTimeout changes the last transition of an agent from the question's state to the state that
// follows a timeout.
func (m *Model) countTimeout(a *Agent, next string) {
	if m.endedWait.For != state.ForAnswer || m.endedWait.State == next || a.transition == nil {
		return
	}
	question := diagram.Move{From: a.transition.From, To: m.endedWait.State, Kind: diagram.Ask}
	if m.moves[question]--; m.moves[question] <= 0 {
		delete(m.moves, question)
	}
	m.moves[diagram.Move{From: a.transition.From, To: next, Kind: diagram.TimedOut}]++
}
