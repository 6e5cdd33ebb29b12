package runs

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/snapshots"
	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/runner/insight"
	"github.com/raymond-action/raymond-action/runner/insight/page"
)

// Output says how and where a report is written.
type Output struct {
	File   string // "-" for Stdout, "" for the default
	AsJSON bool   // instead of a page; the default is Stdout then
	Stdout io.Writer
}

// ReadReport gathers what is known of a run of a state folder. Run, IsDriven and Snapshots of s are
// found by it.
func ReadReport(s Source, id string) (*insight.Report, error) {
	run, driver, err := Read(s.StateDir, id)
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
	return BuildReport(s)
}

// PrintReport writes the report of a run of a state folder, as ReadReport gathers it. The name of a file is
// printed.
func PrintReport(out Output, s Source, id string) error {
	r, err := ReadReport(s, id)
	if err != nil {
		return err
	}
	name, content := id+".html", func(w io.Writer) error { return page.Write(w, r) }
	if out.AsJSON {
		name, content = "-", func(w io.Writer) error { return PrintJSON(w, r) }
	}
	if out.File != "" {
		name = out.File
	}
	if name == "-" {
		return content(out.Stdout)
	}
	if err := writeFile(name, content); err != nil {
		return err
	}
	_, err = fmt.Fprintln(out.Stdout, name)
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
	return files.Rename(f.Name(), name)
}
