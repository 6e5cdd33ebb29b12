package runs

import (
	"path/filepath"
	"slices"

	"github.com/raymond-action/raymond-action/state"
)

// Execution is one state execution of a run, as history shows it.
type Execution struct {
	Exec       int               `json:"exec"` // its number: they are counted in the order in which they start
	Agent      string            `json:"agent"`
	State      string            `json:"state"`
	Status     string            `json:"status"`
	CostUSD    state.USD         `json:"cost_usd"`
	SessionID  string            `json:"session_id"` // "" of a script
	Transition *state.Transition `json:"transition"` // nil while there is none; the last one of a state that forked several agents
	Files      []string          `json:"files"`      // that it has changed; nil where there are no snapshots of them

	spent state.Spent
	err   string // why it failed
}

// The statuses of a state execution.
const (
	execCompleted   = "completed"
	execFailed      = "failed"
	execRunning     = "running"
	execInterrupted = "interrupted" // it was cut off, and a resume runs it again
)

// executions gathers those of a run from its events.
type executions struct {
	list   []*Execution // in order of their numbers
	byExec map[int]*Execution
}

// executionsOf returns what a run did, in the order of the numbers. isDriven says that somebody
// drives the run now.
func executionsOf(stateDir string, run *state.Run, isDriven bool) ([]Execution, error) {
	events, err := eventsOf(stateDir, run)
	if err != nil {
		return nil, err
	}
	x := executions{byExec: map[int]*Execution{}}
	for _, e := range events {
		x.add(e)
	}
	for _, a := range run.Agents {
		if a.Exec != nil {
			x.addOpen(a)
		}
	}
	slices.SortStableFunc(x.list, func(a, b *Execution) int { return a.Exec - b.Exec })
	out := make([]Execution, len(x.list))
	for i, e := range x.list {
		if out[i] = *e; e.Status == execRunning && !isDriven {
			out[i].Status = execInterrupted
		}
	}
	return out, nil
}

// eventsOf returns all events of a run: those of its log, and those that a crash kept from
// the log, which are in the state file.
func eventsOf(stateDir string, run *state.Run) (events []state.Event, err error) {
	for e, err := range Events(filepath.Join(stateDir, run.WorkflowID, "events.jsonl")) {
		if err != nil {
			return nil, err
		}
		events = append(events, e)
	}
	last := 0
	return slices.DeleteFunc(append(events, run.Events...), func(e state.Event) bool {
		if e.Seq <= last {
			return true
		}
		last = e.Seq
		return false
	}), nil
}

func (x *executions) add(e state.Event) {
	n := e.Exec
	if n == 0 {
		return
	}
	switch b := e.Body.(type) {
	case *state.StateStarted:
		at := x.at(n, e.Agent, e.State)
		at.Status, at.SessionID = execRunning, b.SessionID
	case *state.StateFinished:
		at := x.at(n, e.Agent, e.State)
		at.end(b)
	case *state.Transition:
		x.at(n, e.Agent, b.From).Transition = b
	}
}

// at returns the execution of a number, which may be new: what came before may be in no log.
func (x *executions) at(n int, agent, st string) *Execution {
	e, known := x.byExec[n]
	if !known {
		e = &Execution{Exec: n, Agent: agent, State: st, Status: execRunning}
		x.byExec[n], x.list = e, append(x.list, e)
	}
	return e
}

func (e *Execution) end(b *state.StateFinished) {
	e.Status, e.err = execCompleted, b.Error
	if !b.OK {
		e.Status = execFailed
	}
	if b.SessionID != "" {
		e.SessionID = b.SessionID
	}
	e.CostUSD, e.spent = b.CostUSD, b.Spent()
}

// addOpen adds what the state file knows of an execution that has not ended.
func (x *executions) addOpen(a *state.Agent) {
	e := x.at(a.Exec.Iteration, a.ID, a.State)
	if e.Status != execRunning {
		return
	}
	e.spent = a.Exec.Spent
	e.CostUSD = a.Exec.Spent.USD
}
