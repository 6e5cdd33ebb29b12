package runs

import (
	"path/filepath"

	"github.com/raymond-action/raymond-action/artifacts/workspace"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/insight"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
)

// Source is where the data of a report are.
type Source struct {
	StateDir string
	Run      *state.Run // as it was read, or as it was saved last; is not changed
	IsDriven bool       // a process drives the run at this moment, so that it is not interrupted
	// Agents are the agent CLIs by name, whose transcripts are read. They are not started.
	Agents map[string]runner.Agent
	// Snapshots are those of the run's files, of which there may be none; nil for none.
	Snapshots *workspace.Snapshots
	// Git opens the snapshots where ReadReport and PrintReport are asked; nil: there are none.
	Git *workspace.Git
	// Hide replaces secrets in all texts; nil leaves them as they are.
	Hide func(string) string
	// Next says what can be done with a run that is not completed and that nobody drives; nil for
	// nothing.
	Next func(*state.Run) string
}

// BuildReport gathers what is known of a run. What can't be read besides the event log is named in
// the report; its error is that of an event log, a *state.FileError where that is damaged.
func BuildReport(s Source) (*insight.Report, error) {
	files, fileErr := filesOf(s.Snapshots)
	next := ""
	if s.Next != nil && !s.IsDriven && s.Run.Progress.Status != state.Completed {
		next = s.Next(s.Run)
	}
	r, err := insight.Build(insight.Source{
		Run: s.Run, IsDriven: s.IsDriven, Next: next, Files: files, Hide: s.Hide,
		History: state.ReadHistory(s.StateDir, s.Run.WorkflowID),
		Events:  report.Events(filepath.Join(s.StateDir, s.Run.WorkflowID, "events.jsonl")),
		Agents:  transcriptsOf(s.Agents),
	})
	if err == nil && fileErr != nil {
		r.LeftOut = append(r.LeftOut, "The snapshots of the files can't be read: "+problem.Shorten(fileErr.Error()))
	}
	return r, err
}

// transcriptsOf returns the agent CLIs whose transcripts can be read.
func transcriptsOf(agents map[string]runner.Agent) map[string]insight.Transcripts {
	all := map[string]insight.Transcripts{}
	for name, agent := range agents {
		all[name] = agent
	}
	return all
}
