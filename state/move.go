package state

import (
	"fmt"
	"maps"
	"path/filepath"
	"strings"

	"github.com/raymond-action/raymond-action/protocol"
)

// follow makes the moves of a decision, which has ended an execution: new agents first, then
// the agent itself.
func (s *Step) follow(a *Agent, d protocol.Decision, exec int) {
	from := a.State
	tell := func(body Body) {
		e := about(a, body)
		e.Exec = exec
		s.record(e)
	}
	s.delta.Progress.HasProgress = true
	for _, spawn := range d.Spawns {
		tell(&Transition{Tag: string(protocol.Fork), Target: spawn.State, From: from, Next: spawn.Next})
		s.spawn(a, spawn)
	}
	if len(d.Spawns) > 0 {
		a.enter(d.Then.To, d.Then.Input)
		return
	}
	t := &Transition{Tag: string(d.Then.Verb), Target: d.Then.To, From: from, Return: d.Then.Return}
	if d.Then.Verb == protocol.Result {
		t.Target = a.ReturnState()
	}
	tell(t)
	if text, ended := a.move(d.Then, s.run.Dir); ended {
		tell(&AgentFinished{Result: &text})
		e := Ending{Agent: a.ID, Result: text}
		if a.Parent != "" { // it may be joined
			e.Parent, e.N = a.Parent, a.N
		}
		if s.part != nil { // the work of a part is brought back, also where nobody works any more
			e.Dir = a.Dir
		}
		s.delta.Ended = append(s.delta.Ended, e)
		if a.ID == mainAgent && s.run.Last != nil {
			s.delta.Last = &LastConversation{Session: a.Session, Dir: a.Dir}
			if a.Session != nil {
				s.delta.Last.Model = a.Session.Model
			}
		}
		return
	}
	switch {
	case d.Then.Verb == protocol.Join:
		s.delta.Progress.HasJoin = true
		if len(s.completeJoins([]string{a.ID})) == 0 {
			s.await(a, WaitCondition{For: ForAgents})
		}
	case d.Then.Verb == protocol.Ask:
		s.ask(a, d.Then.Question)
	case d.Then.After > 0:
		s.await(a, WaitCondition{For: ForTime, Until: s.later(d.Then.After)})
	}
}

// spawn creates the agent that a fork tag asks for.
func (s *Step) spawn(parent *Agent, f protocol.Spawn) {
	child := &Agent{ID: s.newName(parent, f.State), Parent: parent.ID, By: parent.By, Vars: f.Vars}
	if f.Dir != "" {
		child.Dir = parent.resolve(f.Dir, s.run.Dir)
	}
	child.enter(f.State, f.Input)
	s.add(child)
	s.tell(child, child.started())
}

// started is the event about an agent that begins.
func (a *Agent) started() *AgentStarted {
	vars := maps.Clone(a.Vars)
	if vars == nil {
		vars = map[string]string{}
	}
	return &AgentStarted{Parent: a.Parent, Vars: vars}
}

// newName returns the name of the next agent that parent forks.
func (s *Step) newName(parent *Agent, state string) string {
	for {
		parent.Forks++
		id := fmt.Sprintf("%s_%s%d", parent.ID, abbrev(state), parent.Forks)
		if !s.isTaken(id) {
			return id
		}
	}
}

// resolve makes a cd attribute absolute, against the directory of the agent or, when it
// has none of its own, that of the run.
func (a *Agent) resolve(cd, runDir string) string {
	switch {
	case filepath.IsAbs(cd):
		return filepath.Clean(cd)
	case a.Dir != "":
		return filepath.Join(a.Dir, cd)
	}
	return filepath.Join(runDir, cd)
}

// move makes a move without spawns. A result without a caller to return to ends the
// agent; move then returns the result.
func (a *Agent) move(m protocol.Move, runDir string) (result Text, ended bool) {
	switch m.Verb {
	case protocol.Goto, protocol.Join, protocol.Ask:
	case protocol.Reset:
		a.Session, a.Branch = nil, false
		if m.Dir != "" {
			a.Dir = a.resolve(m.Dir, runDir)
		}
	case protocol.Call:
		a.push(m.Return)
		a.Branch = a.Session != nil
	case protocol.Function:
		a.push(m.Return)
		a.Session, a.Branch, a.Model, a.Backend = nil, false, m.Model, m.Backend
	case protocol.Result:
		if len(a.Stack) == 0 {
			a.Status = removed
			return Text(m.Text), true
		}
		top := a.Stack[len(a.Stack)-1]
		a.Stack = a.Stack[:len(a.Stack)-1]
		a.Session, a.Branch, a.Dir = top.Session, top.Branch, top.Dir
		a.enter(top.State, m.Text)
		return "", false
	}
	a.enter(m.To, m.Input)
	return "", false
}

// push remembers where the agent returns to.
func (a *Agent) push(state string) {
	a.Stack = append(a.Stack, Frame{State: state, Session: a.Session, Branch: a.Branch, Dir: a.Dir})
}

// ReturnState is the state in which the agent goes on when it ends with a result, "" when it
// ends itself.
func (a *Agent) ReturnState() string {
	if len(a.Stack) == 0 {
		return ""
	}
	return a.Stack[len(a.Stack)-1].State
}

// enter makes the agent ready to begin a state, and counts that.
func (a *Agent) enter(state, payload string) {
	a.State, a.Status, a.Payload = state, Ready, Text(payload)
	a.visit(1)
}

// leave takes back that the agent has entered its state, which it does not begin.
func (a *Agent) leave() { a.visit(-1) }

func (a *Agent) visit(n int) {
	visits := maps.Clone(a.Visits) // that of the run stays as it is
	if visits == nil {
		visits = map[string]int{}
	}
	if visits[a.State] += n; visits[a.State] == 0 {
		delete(visits, a.State)
	}
	a.Visits = visits
}

// person is Agent.By of what somebody has said.
func person(login string) string { return "person " + login }

// abbrev returns the part of a forked agent's name that stands for its first state.
func abbrev(state string) string {
	name := strings.ToLower(state)
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		name = name[:i]
	}
	out := []rune{}
	for _, r := range name {
		if len(out) == 6 {
			break
		}
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') {
			r = '_'
		}
		out = append(out, r)
	}
	return string(out)
}
