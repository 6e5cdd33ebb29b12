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
)

// ReportSource is where the data of a report are.
type ReportSource struct {
	StateDir string
	Run      *state.Run // as it was read, or as it was saved last; is not changed
	IsDriven bool       // a process drives the run at this moment, so that it is not interrupted
	// Agents are the agent CLIs by name, whose transcripts are read. They are not started.
	Agents map[string]runner.AgentCLI
	// Snapshots are those of the run's files, of which there may be none; nil for none.
	Snapshots *workspace.Snapshots
	// Hide replaces secrets in all texts; nil leaves them as they are.
	Hide func(string) string
	Next string // what can be done with the run if it is not completed and nobody drives it; "" for nothing
}

// most bounds the diffs that are read.
var most = workspace.DiffLimits{File: 64 << 10, Execution: 256 << 10, All: 4 << 20}

// BuildReport gathers what is known of a run. What can't be read besides the event log is named in
// the report; its error is that of an event log, a *state.FileError where that is damaged.
func BuildReport(s ReportSource) (*insight.Report, error) {
	from := insight.Source{
		Run: s.Run, IsDriven: s.IsDriven, Hide: s.Hide,
		History: state.ReadHistory(s.StateDir, s.Run.WorkflowID),
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
		changes, fileErr = s.Snapshots.Changes(context.Background(), most)
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

// WriteReport writes a report to a file, which only its owner can read; "-" is stdout, "" the default. As JSON it goes to
// stdout by default, else to a page. The name of a file is printed.
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
	if err := writeFile(name, content); err != nil {
		return err
	}
	_, err := fmt.Fprintln(stdout, name)
	return err
}

// writeFile writes a file that only its owner can read. A file that is there is replaced when
// the new one is whole.
func writeFile(name string, content func(io.Writer) error) error {
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
	return nil
}
