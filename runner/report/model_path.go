package report

import (
	"github.com/raymond-action/raymond-action/runner/diagram"
	"github.com/raymond-action/raymond-action/state"
)

// Path returns the path that the run has taken so far, for a diagram of its workflow.
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

// countTransition counts a transition for the diagram. If one answer forks several agents, each
// fork is counted, and the move of their parent to its next state is counted once. A transition
// after a failed execution is counted as diagram.Exhausted, since the workflow, and not the agent,
// has chosen its target. x may be nil if no event has reported the execution.
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

// countTimeout counts a question that timed out. It replaces the agent's last transition, to the
// state that would have received the answer, with a transition to the state for the timeout. It does
// nothing if the last event did not end a question by a timeout.
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
