// Package parts reads what the jobs of a matrix have stored of a run, for the step that
// joins it, and says which jobs come next.
package parts

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"

	"github.com/raymond-action/raymond-action/artifacts/slots"
	"github.com/raymond-action/raymond-action/state"
)

// None is the output matrix when nobody waits.
const None = `{"include":[]}`

// entry is one job of a matrix.
type entry struct {
	Part string `json:"part"` // its agents
	Name string `json:"name"` // for people
}

// Matrix returns the output matrix: an entry for each part that the run has handed over.
// Nobody waits for a job in a run that is not suspended.
func Matrix(run *state.Run) string {
	if run.Progress.Status != state.Suspended {
		return None
	}
	include := []entry{}
	for _, p := range run.Parts.Matrix() {
		var agents []string
		for _, a := range p.Agents {
			agents = append(agents, a.Agent)
		}
		include = append(include, entry{strings.Join(agents, ","), p.Label()})
	}
	data, err := json.Marshal(map[string][]entry{"include": include})
	if err != nil {
		return None
	}
	return string(data)
}

// Reading is how parts are read.
type Reading struct {
	Base *state.Run // the run of which they are parts
	// Open returns the run of a checkpoint, for this machine.
	Open func(*slots.Found) (*state.Run, error)
}

// Read reads parts, for state.Joining. Its error is a *state.FileError that names the artifact,
// or one of Open.
func (r Reading) Read(found []slots.PartFound) ([]state.Ran, error) {
	var all []state.Ran
	for _, f := range found {
		ran := state.Ran{Part: f.Part, Running: f.Running}
		for i, stored := range f.All {
			if ran.Running {
				break
			}
			run, err := r.Open(stored)
			if err == nil {
				err = within(stored.Artifact.Name, f.Part.Check(r.Base, run))
			}
			if err == nil && i == 0 {
				ran.Events, err = r.events(stored, run)
				err = within(stored.Artifact.Name, err)
			}
			if err != nil {
				return nil, err
			}
			ran.Runs = append(ran.Runs, run)
		}
		all = append(all, ran)
	}
	return all, nil
}

// events reads the part's own events.
func (r Reading) events(stored *slots.Found, run *state.Run) ([]state.Event, error) {
	own, _ := run.Parts.Own()
	return ReadLog(filepath.Join(stored.Dir, logFile), run.WorkflowID, own.Began.Events)
}

// within names the artifact in a *state.FileError.
func within(artifact string, err error) error {
	var bad *state.FileError
	if errors.As(err, &bad) && bad.Path == "" {
		bad.Path = artifact
	}
	return err
}
