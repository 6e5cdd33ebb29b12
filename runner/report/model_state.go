package report

import (
	"cmp"
	"iter"
	"slices"

	"github.com/raymond-action/raymond-action/state"
)

// ModelOf returns the Model of a run from its events, up to their first error, which it returns,
// and from its state, which is not changed. hide masks all texts; nil leaves
// them as they are.
func ModelOf(run *state.Run, events iter.Seq2[state.Event, error], hide func(string) string) (*Model, error) {
	m := NewModel()
	if hide == nil {
		hide = func(text string) string { return text }
	}
	if events != nil {
		for e, err := range events {
			if err != nil {
				return nil, err
			}
			m.Add(e.Map(hide))
		}
	}
	for _, e := range run.Events { // a crash may have kept them from the log
		m.Add(e.Map(hide))
	}
	for _, a := range run.Agents {
		m.addState(a, hide)
	}
	for _, e := range run.Ended {
		if m.agents[e.Agent] != nil {
			continue // events tell of it
		}
		a := m.agent(state.Event{Agent: e.Agent})
		a.Parent, a.Status, a.Result, a.Error = e.Parent, agentEnded, hide(string(e.Result)), hide(e.Error)
		if a.Error != "" {
			a.Status = Failed
		}
	}
	return m, nil
}

// addState takes what the state has of an agent that has not ended, and of its execution: the
// log of a run that was begun again tells nothing of them.
func (m *Model) addState(s *state.Agent, hide func(string) string) {
	a := m.agent(state.Event{Agent: s.ID, State: s.State})
	a.Parent = s.Parent
	if a.Vars == nil {
		a.Vars = state.MapTexts(s.Vars, hide)
	}
	switch s.Status {
	case state.Stuck:
		a.Status = Failed
		if a.Error == "" && s.Failure != nil {
			a.Error = hide(s.FailureText())
		}
	case state.Waiting:
		a.Status = agentWaits
	default:
		a.Status = Running
	}
	if s.Exec != nil {
		m.addExec(s, a, s.Exec)
	}
}

// addExec takes what the state has of an execution that has not ended.
func (m *Model) addExec(s *state.Agent, a *Agent, e *state.Exec) {
	x := a.last
	switch {
	case x.isOpen() && x.State == s.State:
		x.N = e.Iteration // parts of a matrix were joined since its last event
	case x == nil || x.N != e.Iteration:
		x = m.begin(state.Event{Agent: s.ID, State: s.State, Exec: e.Iteration, Time: e.Started}, a)
		x.Kind, x.attempt = "script", e.Attempt
		if e.Session != nil || e.Running != nil && e.Running.SessionID != "" { // it has a conversation
			x.Kind = "prompt"
		}
	}
	if !x.isOpen() {
		return
	}
	x.Spent, x.Turns = Spent{e.Spent, e.Tokens}, e.Turns
	switch {
	case e.Running != nil && e.Running.Mode != "":
		x.Backend = e.Running.BackendName()
	case e.Session != nil:
		x.Backend = e.Session.BackendName()
	}
	a.setUnfinished(e.Spent, e.Models)
	if e.Session != nil {
		x.SessionID = cmp.Or(e.Session.ID, x.SessionID)
	}
}

// Rows returns the executions in the order of their numbers. What has not ended was cut off
// unless somebody drives the run.
func (m *Model) Rows(isDriven bool) []Exec {
	all := make([]Exec, 0, len(m.Executions))
	for _, x := range m.Executions {
		one := *x
		if one.Status == Running && !isDriven {
			one.Status = Interrupted
		}
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b Exec) int { return cmp.Compare(a.N, b.N) })
	return all
}
