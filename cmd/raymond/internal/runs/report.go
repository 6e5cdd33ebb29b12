package runs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/raymond-action/raymond-action/artifacts/workspace"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/insight"
	"github.com/raymond-action/raymond-action/runner/insight/page"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
	"github.com/raymond-action/raymond-action/state/journal"
)

// ReportSource contains what BuildReport needs to know about a run.
type ReportSource struct {
	StateDir string
	Run      *state.Run // BuildReport doesn't change it
	IsDriven bool       // a process drives the run; if false, a run with the status running was interrupted
	// Agents are the agent CLIs by name. Only their transcripts are read; they are not started.
	Agents map[string]runner.AgentCLI
	// Snapshots are the snapshots of the run's files. It may be nil or contain no snapshots.
	Snapshots *workspace.Snapshots
	// Hide replaces secrets in all texts. If it is nil, nothing is replaced.
	Hide func(string) string
	Next string // the next step for a run that is neither completed nor driven; may be empty
}

// maxDiffs limits the size of the diffs in a report, in bytes.
var maxDiffs = workspace.DiffLimits{File: 64 << 10, Execution: 256 << 10, All: 4 << 20}

// BuildReport collects the data for a report about a run. If some data can't be read, the report mentions that.
// Only for an unreadable event log does BuildReport return an error, which is a *state.FileError if the
// log is damaged.
func BuildReport(s ReportSource) (*insight.Report, error) {
	from := insight.Source{
		Run: s.Run, IsDriven: s.IsDriven, Hide: s.Hide,
		History: journal.History(s.StateDir, s.Run.WorkflowID),
		Events:  report.Events(filepath.Join(s.StateDir, s.Run.WorkflowID, "events.jsonl")),
		Agents:  map[string]insight.Transcripts{},
	}
	for name, agent := range s.Agents {
		from.Agents[name] = agent
	}
	if !s.IsDriven && s.Run.Progress.Status != state.Completed {
		from.Next = s.Next
	}
	var fileErr error
	if s.Snapshots != nil {
		var changes map[int]workspace.Changes
		changes, fileErr = s.Snapshots.Changes(context.Background(), maxDiffs)
		from.Files = map[int]insight.ChangedFiles{}
		for exec, one := range changes {
			files := make([]report.File, len(one.Files))
			for i, f := range one.Files {
				files[i] = report.File{Path: f.Path, Change: f.What, Diff: f.Diff, Cut: f.IsCut}
			}
			from.Files[exec] = insight.ChangedFiles{Files: files, IsShared: one.IsShared}
		}
	}
	r, err := insight.Build(from)
	if err == nil && fileErr != nil {
		r.LeftOut = append(r.LeftOut, "The snapshots of the files can't be read: "+problem.Shorten(fileErr.Error()))
	}
	return r, err
}

// WriteReport writes a report as an HTML page or as JSON. The file can be read only by its owner; its
// name is printed to stdout. An existing file is replaced after the new file is complete. If file is "-", the
// report is written to stdout. If file is empty, JSON is written to stdout, and a page to WORKFLOW_ID.html.
func WriteReport(stdout io.Writer, file string, asJSON bool, r *insight.Report) error {
	name, content := r.WorkflowID+".html", func(w io.Writer) error { return page.Write(w, r) }
	if asJSON {
		name, content = "-", func(w io.Writer) error { return PrintJSON(w, r) }
	}
	if file != "" {
		name = file
	}
	if name == "-" {
		return content(stdout)
	}
	if info, err := os.Lstat(name); err == nil && !info.Mode().IsRegular() {
		return problem.Usage("--output", fmt.Sprintf("%q is not a regular file", name), "name another one, or - for stdout")
	}
	f, err := os.CreateTemp(filepath.Dir(name), ".raymond-report-*")
	if err != nil {
		return problem.Usage("--output", err.Error(), "")
	}
	if err = errors.Join(content(f), f.Close()); err == nil {
		err = files.Rename(f.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	_, err = fmt.Fprintln(stdout, name)
	return err
}
