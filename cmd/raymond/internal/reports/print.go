package reports

import (
	"encoding/json"
	"io"

	"github.com/raymond-action/raymond-action/runner/insight"
	"github.com/raymond-action/raymond-action/state"
)

// Read gathers what is known of a run of a state folder. Run and IsDriven of s are set by it.
func Read(s Source, id string) (*insight.Report, error) {
	driver, err := state.DrivenBy(s.StateDir, id)
	if err != nil {
		return nil, err
	}
	if s.Run, err = state.Read(s.StateDir, id); err != nil {
		return nil, err
	}
	if driver == nil && s.Run.Progress.Status == state.Running {
		// Somebody may have begun to drive it since the lock was asked.
		if driver, err = state.DrivenBy(s.StateDir, id); err != nil {
			return nil, err
		}
	}
	s.IsDriven = driver != nil
	return Build(s)
}

// PrintJSON writes data for programs.
func PrintJSON(out io.Writer, data any) error {
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(data)
}
