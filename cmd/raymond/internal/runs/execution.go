package runs

import (
	"path/filepath"
	"time"

	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
)

// Execution is one state execution of a run, as history shows it.
type Execution struct {
	Exec       int               `json:"exec"` // its number: they are counted in the order in which they start
	Agent      string            `json:"agent"`
	State      string            `json:"state"`
	Status     string            `json:"status"`
	CostUSD    state.USD         `json:"cost_usd"`
	Started    time.Time         `json:"started"`
	DurationMS int64             `json:"duration_ms"` // of the work in it, 0 while it goes on
	Attempts   int               `json:"attempts"`    // the verdicts on it; 1 where there are none
	SessionID  string            `json:"session_id"`  // "" of a script
	Transition *state.Transition `json:"transition"`  // nil while there is none; the last one of a state that forked several agents
	Files      []string          `json:"files"`       // that it has changed; nil where there are no snapshots of them

	spent state.Spent
	again string // what else was done again
	err   string // why it failed
}

// executionsOf returns what a run did, in the order of the numbers. isDriven says that somebody
// drives the run now.
func executionsOf(stateDir string, run *state.Run, isDriven bool) ([]Execution, error) {
	m, err := ModelOf(stateDir, run)
	if err != nil {
		return nil, err
	}
	all := m.Rows(isDriven)
	list := make([]Execution, len(all))
	for i, x := range all {
		list[i] = Execution{
			Exec: x.N, Agent: x.Agent, State: x.State, Status: x.Status, CostUSD: x.Spent.USD, SessionID: x.SessionID, Transition: x.Transition,
			Started: x.Started, DurationMS: x.DurationMS, Attempts: max(1, len(x.Attempts)),
			spent: x.Spent.Spent, again: again(&x), err: x.Error,
		}
	}
	return list, nil
}

// again says what was done again in an execution besides attempts.
func again(x *report.Exec) (text string) {
	for _, c := range []struct {
		n     int
		thing string
	}{{len(x.Retries), "retry"}, {len(x.Reminders), "reminder"}, {len(x.Interruptions), "interruption"}} {
		if c.n > 0 {
			text += ", " + state.Count(c.n, c.thing)
		}
	}
	return text
}

// ModelOf reads what is known of a run from its event log and its state file.
func ModelOf(stateDir string, run *state.Run) (*report.Model, error) {
	return report.ModelOf(run, report.Events(filepath.Join(stateDir, run.WorkflowID, "events.jsonl")), nil)
}
