package runs

import (
	"path/filepath"

	"github.com/raymond-action/raymond-action/runner/diagram"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
)

// PathOf reads what a run did from its event log. What a crash kept from the log
// is in the state file.
func PathOf(stateDir string, run *state.Run) (*diagram.Path, error) {
	path, last := &diagram.Path{}, 0
	for e, err := range report.Events(filepath.Join(stateDir, run.WorkflowID, "events.jsonl")) {
		if err != nil {
			return nil, err
		}
		if e.Seq > last { // of one that was written twice, once
			path.Add(e)
			last = e.Seq
		}
	}
	for _, e := range run.Events {
		if e.Seq > last {
			path.Add(e)
		}
	}
	return path, nil
}
