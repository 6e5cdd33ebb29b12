package runs

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/scope"
	"github.com/raymond-action/raymond-action/examples"
	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/protocol/lint"
)

// maxJobFile bounds a workflow file of GitHub Actions, in bytes.
const maxJobFile = 1 << 20

// readJobFiles reads the workflow files of GitHub Actions. One that can't be read is an
// error of class usage; what is no workflow file becomes a finding.
func (l *Lint) readJobFiles() error {
	var errs []error
	for _, path := range l.JobFiles {
		text, err := files.ReadTarget(path, maxJobFile)
		if err != nil {
			errs = append(errs, problem.Usage("--workflow-file", fmt.Sprintf("%q: %v", problem.Shorten(path), err), "name a workflow file of GitHub Actions"))
			continue
		}
		l.lines[path] = strings.Split(string(text), "\n")
		f, err := lint.ReadJobFile(path, text)
		if err != nil {
			l.add(remark{File: path, Severity: lint.Error, Code: "workflow-file", Message: "is no workflow file of GitHub Actions: " + err.Error()})
			continue
		}
		l.jobs = append(l.jobs, f)
	}
	return errors.Join(errs...)
}

// named opens the workflows that the steps of the workflow files name: for a call without
// a path. Those whose names are expressions are left out.
func (l *Lint) named() (flows []flow, err error) {
	var errs []error
	var seen []string
	for _, f := range l.jobs {
		for _, step := range f.Ours() {
			name := step.Input("workflow")
			if step.IsOpen("workflow") || slices.Contains(seen, name) {
				continue
			}
			seen = append(seen, name)
			s, err := openNamed(f, step)
			if err != nil {
				errs = append(errs, problem.Usage("PATH", fmt.Sprintf("is missing, and %s names %q, which is not found", f.Path, problem.Shorten(name)), "name the folder, archive or state file"))
				continue
			}
			flows = append(flows, flow{s, shownPath(s, name)})
		}
	}
	if len(flows) == 0 && len(errs) == 0 && len(l.jobs) > 0 {
		errs = append(errs, problem.Usage("PATH", "is missing, and the workflow file names no workflow of agents", "name directories, zip archives or state files"))
	}
	return flows, errors.Join(errs...)
}

// shownPath is the path of a workflow as findings have it.
func shownPath(s *scope.Scope, name string) string {
	if strings.HasPrefix(name, lint.Builtin) {
		return name
	}
	wd, _ := os.Getwd() // without one no path is relative to it
	if rel, err := filepath.Rel(wd, s.Path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return s.Path
}

// openNamed opens the workflow that a step names, in the repository that the workflow
// file is in, or else from here.
func openNamed(f *lint.JobFile, step lint.Step) (*scope.Scope, error) {
	name := step.Input("workflow")
	if builtin, ok := strings.CutPrefix(name, lint.Builtin); ok {
		sub, err := fs.Sub(examples.Files, builtin)
		if err == nil {
			_, err = fs.Stat(sub, ".")
		}
		return &scope.Scope{Path: name, FS: sub}, err
	}
	root := filepath.Dir(f.Path)
	if abs, err := filepath.Abs(root); err == nil && strings.HasSuffix(filepath.ToSlash(abs), "/.github/workflows") {
		root = filepath.Join(root, "..", "..")
	}
	var first error
	for _, dir := range []string{root, filepath.Join(root, step.Input("working-directory")), "."} {
		s, err := scope.Find(filepath.Join(dir, filepath.FromSlash(name)))
		if err == nil {
			return s, nil
		}
		first = cmp.Or(first, err)
	}
	return nil, first
}
