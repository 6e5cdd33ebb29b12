package state

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"strings"

	"github.com/raymond-action/raymond-action/protocol"
)

// follow makes the moves that a decision requests. First it creates the forked agents, then it moves the
// agent a itself. exec is the number of the execution that the decision ended.
func (d *draft) follow(a *Agent, decision protocol.Decision, exec int) {
	from, move := a.State, decision.Then
	emit := func(body Body) {
		e := about(a, body)
		e.Exec = exec
		d.record(e)
	}
	d.delta.Progress.HasProgress = true
	for _, spawn := range decision.Spawns {
		emit(&Transition{Tag: string(protocol.Fork), Target: spawn.State, From: from, Next: spawn.Next})
		d.spawn(a, spawn)
	}
	if len(decision.Spawns) > 0 {
		a.enter(move.To, move.Input)
		return
	}
	t := &Transition{Tag: string(move.Verb), Target: move.To, From: from, Return: move.Return}
	if move.Verb == protocol.Result {
		t.Target = a.ReturnState()
	}
	emit(t)
	text, ended := a.move(move, d.run.Dir)
	switch {
	case ended:
		emit(&AgentFinished{Result: &text})
		e := Ending{Agent: a.ID, Result: text}
		if a.Parent != "" { // a join may deliver the result of this agent
			e.Parent, e.N = a.Parent, a.N
		}
		// The part's files are merged later, even files in directories in which no agent works any more.
		if d.group.part != nil {
			e.Dir = a.Dir
		}
		d.delta.Ended = append(d.delta.Ended, e)
		if a.ID == mainAgent && d.run.Last != nil {
			d.delta.Last = &LastConversation{Session: a.Session, Dir: a.Dir}
			if a.Session != nil {
				d.delta.Last.Model = a.Session.Model
			}
		}
	case move.Verb == protocol.Join:
		d.delta.Progress.HasJoin = true
		if results, ok := d.completeJoins([]string{a.ID})[a.ID]; ok {
			d.deliver(a, results)
		} else {
			d.beginWait(a, WaitCondition{For: ForAgents})
		}
	case move.Verb == protocol.Ask:
		q := move.Question
		d.delta.Progress.Questions++
		what := WaitCondition{For: ForAnswer, Question: &Question{
			Number: d.delta.Progress.Questions, Text: Text(q.Text), Choices: q.Choices, TimeoutNext: q.TimeoutNext,
			Where: q.Where, From: q.From, Untrusted: q.Untrusted,
		}}
		if q.Timeout > 0 {
			what.Until = inUTC(d.now.Add(q.Timeout))
		}
		d.beginWait(a, what)
	case move.After > 0:
		d.beginWait(a, WaitCondition{For: ForTime, Until: inUTC(d.now.Add(move.After))})
	}
}

// spawn creates the agent that a fork tag requests, gives it the next number, and emits AgentStarted.
func (d *draft) spawn(parent *Agent, f protocol.Spawn) {
	child := &Agent{Parent: parent.ID, By: parent.By, Vars: f.Vars}
	for isTaken := true; isTaken; {
		parent.Forks++
		child.ID = fmt.Sprintf("%s_%s%d", parent.ID, abbrev(f.State), parent.Forks)
		_, isMine := d.copies[child.ID]
		_, isKnown := d.run.Agent(child.ID)
		isTaken = isMine || isKnown
		for e := range d.ended() {
			isTaken = isTaken || e.Agent == child.ID
		}
	}
	if f.Dir != "" {
		child.Dir = parent.resolve(f.Dir, d.run.Dir)
	}
	child.enter(f.State, f.Input)
	d.delta.Progress.Created++
	child.N = d.delta.Progress.Created
	d.copies[child.ID], d.added = child, append(d.added, child)
	d.emit(child, &AgentStarted{Parent: child.Parent, Vars: child.Vars})
}

// resolve returns the value of a cd attribute as an absolute path. A relative path is relative to the
// agent's directory or, if the agent has no directory, to the directory of the run.
func (a *Agent) resolve(cd, runDir string) string {
	if filepath.IsAbs(cd) {
		return filepath.Clean(cd)
	}
	return filepath.Join(cmp.Or(a.Dir, runDir), cd)
}

// move makes a move that forks no agent. If the move is a result and the agent's return stack is empty,
// the agent ends, and move returns the result.
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

// push adds a frame to the agent's return stack, so that the agent will return to the state.
func (a *Agent) push(state string) {
	a.Stack = append(a.Stack, Frame{State: state, Session: a.Session, Branch: a.Branch, Dir: a.Dir})
}

// ReturnState returns the state in which the agent will continue after a result. It returns "" if a
// result ends the agent.
func (a *Agent) ReturnState() string {
	if len(a.Stack) == 0 {
		return ""
	}
	return a.Stack[len(a.Stack)-1].State
}

// enter makes the agent ready to begin the state with the payload, and counts the visit.
func (a *Agent) enter(state, payload string) {
	a.State, a.Status, a.Payload = state, Ready, Text(payload)
	a.addVisits(1)
}

// addVisits adds n to the number of visits to the agent's current state. It is -1 if the agent leaves the
// state without beginning it.
func (a *Agent) addVisits(n int) {
	visits := maps.Clone(a.Visits) // a copy: the run's own map must not change
	if visits == nil {
		visits = map[string]int{}
	}
	if visits[a.State] += n; visits[a.State] == 0 {
		delete(visits, a.State)
	}
	a.Visits = visits
}

// abbrev returns up to six characters of a state's name. They become part of the name of an agent that
// was forked into that state.
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
