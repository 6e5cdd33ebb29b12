package reports

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/runs"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/snapshots"
	"github.com/raymond-action/raymond-action/runner/insight"
	"github.com/raymond-action/raymond-action/runner/insight/page"
	"github.com/raymond-action/raymond-action/state"
)

// Output says how and where a report is written.
type Output struct {
	File   string // "-" for Stdout, "" for the default
	AsJSON bool   // instead of a page; the default is Stdout then
	Stdout io.Writer
}

// AllFile is the name of the page about all runs of a state folder, unless another is given.
const AllFile = "raymond-report.html"

// Read gathers what is known of a run of a state folder. Run, IsDriven and Snapshots of s are
// found by it.
func Read(s Source, id string) (*insight.Report, error) {
	driver, run, err := read(s.StateDir, id)
	if err != nil {
		return nil, err
	}
	s.Run, s.IsDriven = run, driver != nil
	if s.Git != nil {
		dir, err := filepath.Abs(s.StateDir)
		if err != nil {
			return nil, err
		}
		s.Snapshots = s.Git.OpenSnapshots(snapshots.Path(filepath.Join(dir, id)))
	}
	return Build(s)
}

// Print writes the report of a run of a state folder, as Read gathers it.
func Print(out Output, s Source, id string) error {
	r, err := Read(s, id)
	if err != nil {
		return err
	}
	return out.write(id+".html", r, func(w io.Writer) error { return page.Write(w, r) })
}

// PrintAll writes the index of all runs of a state folder. A run that can't be read is shown
// as such, and is in the error.
func PrintAll(out Output, s Source) error {
	ids, err := state.List(s.StateDir)
	if err != nil {
		return err
	}
	x := insight.NewIndexer(s.Hide)
	var broken []error
	for _, id := range ids {
		driver, run, err := read(s.StateDir, id)
		if err == nil {
			err = x.Add(insight.Source{Run: run, IsDriven: driver != nil, Hide: s.Hide, Events: runs.Events(eventsOf(s.StateDir, id))})
		}
		if err != nil {
			broken = append(broken, err)
			x.AddBroken(id, err)
		}
	}
	index := x.Index()
	return errors.Join(out.write(AllFile, index, func(w io.Writer) error { return page.WriteIndex(w, index) }), errors.Join(broken...))
}

// read reads a run and asks its lock who drives it; nobody does when driver is nil.
func read(dir, id string) (driver *state.Driver, run *state.Run, err error) {
	if driver, err = state.DrivenBy(dir, id); err != nil {
		return nil, nil, err
	}
	if run, err = state.Read(dir, id); err != nil {
		return nil, nil, err
	}
	if driver == nil && run.Progress.Status == state.Running {
		// Somebody may have begun to drive it since the lock was asked.
		driver, err = state.DrivenBy(dir, id)
	}
	return driver, run, err
}

// write writes data, or the page about them. The name of a file is printed.
func (o Output) write(name string, data any, page func(io.Writer) error) error {
	content := page
	if o.AsJSON {
		name = "-"
		content = func(w io.Writer) error {
			enc := json.NewEncoder(w)
			enc.SetEscapeHTML(false)
			enc.SetIndent("", "  ")
			return enc.Encode(data)
		}
	}
	if o.File != "" {
		name = o.File
	}
	if name == "-" {
		return content(o.Stdout)
	}
	if err := writeFile(name, content); err != nil {
		return err
	}
	_, err := fmt.Fprintln(o.Stdout, name)
	return err
}

// writeFile writes a file that only its owner can read. A file that is there is replaced when
// the new one is whole.
func writeFile(name string, content func(io.Writer) error) (err error) {
	if info, err := os.Lstat(name); err == nil && !info.Mode().IsRegular() {
		return problem.Usage("--output", fmt.Sprintf("%q is not a regular file", name), "name another one, or - for stdout")
	}
	f, err := os.CreateTemp(filepath.Dir(name), ".raymond-report-*")
	if err != nil {
		return problem.Usage("--output", err.Error(), "")
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close(), os.Remove(f.Name()))
		}
	}()
	if err := content(f); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}
