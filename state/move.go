package state

import (
	"fmt"
	"path/filepath"

	"github.com/raymond-action/raymond-action/protocol"
)

// follow makes the moves of a decision: new agents first, then the agent itself.
func (s *Step) follow(a *Agent, d protocol.Decision) {
	from := a.State
	for _, spawn := range d.Spawns {
		s.emit(a, &Transition{Tag: string(protocol.Fork), Target: spawn.State, From: from, Next: spawn.Next})
		s.spawn(a, spawn)
	}
	if len(d.Spawns) > 0 {
		a.enter(d.Then.To, d.Then.Input)
		return
	}
	t := &Transition{Tag: string(d.Then.Verb), Target: d.Then.To, From: from, Return: d.Then.Return}
	if d.Then.Verb == protocol.Result && len(a.Stack) > 0 {
		t.Target = a.Stack[len(a.Stack)-1].State
	}
	s.emit(a, t)
	s.move(a, d.Then)
}

// spawn creates the agent that a fork tag asks for.
func (s *Step) spawn(parent *Agent, f protocol.Spawn) {
	child := &Agent{ID: s.name(parent, f.State), Parent: parent.ID, Vars: f.Vars, Dir: s.dir(parent, f.Dir, "")}
	child.enter(f.State, f.Input)
	s.add(child)
	s.emit(child, &AgentStarted{Parent: parent.ID, Vars: f.Vars})
}

// name returns the name of the next agent that parent forks.
func (s *Step) name(parent *Agent, state string) string {
	for {
		parent.Forks++
		id := fmt.Sprintf("%s_%s%d", parent.ID, abbrev(state), parent.Forks)
		if !s.taken(id) && !s.mayBeForgotten(id, parent, state) {
			s.d.Progress.Counter = max(s.d.Progress.Counter, parent.Forks)
			return id
		}
	}
}

// dir makes a cd attribute absolute against the directory of a; without one it
// is the given directory.
func (s *Step) dir(a *Agent, cd, without string) string {
	if cd == "" {
		return without
	}
	if filepath.IsAbs(cd) {
		return filepath.Clean(cd)
	}
	base := a.Dir
	if base == "" {
		base = s.run.Dir
	}
	return filepath.Join(base, cd)
}

func (s *Step) move(a *Agent, m protocol.Move) {
	switch m.Verb {
	case protocol.Goto:
	case protocol.Reset:
		a.Session, a.Branch = nil, false
		a.Dir = s.dir(a, m.Dir, a.Dir)
	case protocol.Call:
		a.push(m.Return)
		a.Branch = a.Session != nil
	case protocol.Function:
		a.push(m.Return)
		a.Session, a.Branch, a.Model = nil, false, m.Model
	case protocol.Result:
		s.result(a, Text(m.Text))
		return
	}
	a.enter(m.To, m.Input)
}

// push remembers where a returns to.
func (a *Agent) push(state string) {
	a.Stack = append(a.Stack, Frame{State: state, Session: a.Session, Branch: a.Branch, Dir: a.Dir})
}

// result returns to the caller, or ends the agent when there is none.
func (s *Step) result(a *Agent, text Text) {
	if len(a.Stack) == 0 {
		s.emit(a, &AgentFinished{Result: &text})
		s.d.Ended = append(s.d.Ended, Ending{Agent: a.ID, Result: text})
		a.Status = removed
		return
	}
	top := a.Stack[len(a.Stack)-1]
	a.Stack = a.Stack[:len(a.Stack)-1]
	a.Session, a.Branch, a.Dir = top.Session, top.Branch, top.Dir
	a.enter(top.State, string(text))
}

// enter puts a at the start of a state.
func (a *Agent) enter(state, payload string) {
	a.State, a.Status, a.Payload = state, Ready, Text(payload)
}
