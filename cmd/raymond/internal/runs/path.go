package runs

import (
	"path/filepath"

	"github.com/raymond-action/raymond-action/runner/diagram"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
)

// PathOf reads what a run did from its event log and its state file.
func PathOf(stateDir string, run *state.Run) (*diagram.Path, error) {
	m, err := modelOf(stateDir, run)
	if err != nil {
		return nil, err
	}
	return m.Path(), nil
}

// modelOf reads the model of a run of a state folder.
func modelOf(stateDir string, run *state.Run) (*report.Model, error) {
	return report.ModelOf(run, report.Events(filepath.Join(stateDir, run.WorkflowID, "events.jsonl")), nil)
}
