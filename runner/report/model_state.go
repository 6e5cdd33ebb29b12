package report

import (
	"cmp"
	"iter"
	"slices"

	"github.com/raymond-action/raymond-action/state"
)

// ModelOf builds the Model of a run from its events and its state. It does not change run. events may
// be nil. If events yields an error, ModelOf stops and returns that error. hide masks secrets in all
// texts; if it is nil, texts are not changed.
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
	for _, e := range run.Events { // after a crash, the log may lack these events
		m.Add(e.Map(hide))
	}
	for _, a := range run.Agents {
		m.addAgentState(a, hide)
	}
	for _, e := range run.Ended {
		if m.agents[e.Agent] != nil {
			continue // events have already reported the end of this agent
		}
		a := m.agentOf(state.Event{Agent: e.Agent})
		a.Parent, a.Status, a.Result, a.Error = e.Parent, statusEnded, hide(string(e.Result)), hide(e.Error)
		if a.Error != "" {
			a.Status = Failed
		}
	}
	return m, nil
}

// addAgentState adds data from the saved state of the run: about an agent that has not ended, and
// about its execution. Events may lack this data if the event log was started later than the run.
func (m *Model) addAgentState(s *state.Agent, hide func(string) string) {
	a := m.agentOf(state.Event{Agent: s.ID, State: s.State})
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
		a.Status = statusWaiting
	default:
		a.Status = Running
	}
	if s.Exec != nil {
		m.addExecState(s, a, s.Exec)
	}
}

// addExecState adds data from the saved state of the run about an execution that has not ended.
func (m *Model) addExecState(s *state.Agent, a *Agent, e *state.Exec) {
	x := a.last
	switch {
	case x.isOpen() && x.State == s.State:
		x.N = e.Iteration // joining the parts of a matrix may have changed the number
	case x == nil || x.N != e.Iteration:
		x = m.newExec(state.Event{Agent: s.ID, State: s.State, Exec: e.Iteration, Time: e.Started}, a)
		x.Kind, x.attempt = "script", e.Attempt
		if e.Session != nil || e.Running != nil && e.Running.SessionID != "" { // only prompts have a conversation
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
	a.setOpenCost(e.Spent, e.Models)
	if e.Session != nil {
		x.SessionID = cmp.Or(e.Session.ID, x.SessionID)
	}
}

// Rows returns copies of the executions, ordered by number. Open executions get the status
// Interrupted, unless isDriven is set because a process drives the run.
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
