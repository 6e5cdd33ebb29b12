package lint

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/jobfile"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/scope"
	"github.com/raymond-action/raymond-action/examples"
	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/protocol"
)

// maxJobFile bounds a workflow file of GitHub Actions, in bytes.
const maxJobFile = 1 << 20

// readJobFiles reads the workflow files of GitHub Actions. One that can't be read is an
// error of class usage; what is no workflow file becomes a finding.
func (l *Run) readJobFiles() error {
	var errs []error
	for _, path := range l.WorkflowFiles {
		text, err := files.ReadTarget(path, maxJobFile)
		if err != nil {
			errs = append(errs, problem.Usage("--workflow-file", fmt.Sprintf("%q: %v", problem.Shorten(path), err), "name a workflow file of GitHub Actions"))
			continue
		}
		l.lines[path] = strings.Split(string(text), "\n")
		f, err := jobfile.Parse(path, text)
		if err != nil {
			l.add(remark{File: path, Severity: protocol.SeverityError, Code: "workflow-file", Message: "is no workflow file of GitHub Actions: " + err.Error()})
			continue
		}
		l.files = append(l.files, f)
	}
	return errors.Join(errs...)
}

// builtinPrefix begins an input workflow that names an example of the action.
const builtinPrefix = "builtin:"

// named opens the workflows that the steps of the workflow files name: for a call without
// a path. Those whose names are expressions are left out.
func (l *Run) named() (paths []string, scopes []*scope.Scope, err error) {
	var errs []error
	for _, f := range l.files {
		for _, u := range f.Uses() {
			name := u.Input("workflow")
			if u.IsOpen("workflow") || slices.Contains(paths, name) {
				continue
			}
			s, err := openNamed(f, u)
			if err != nil {
				errs = append(errs, problem.Usage("PATH", fmt.Sprintf("is missing, and %s names %q, which is not found", f.Path, problem.Shorten(name)), "name the folder, archive or state file"))
				continue
			}
			paths, scopes = append(paths, shownPath(s, name)), append(scopes, s)
		}
	}
	if len(paths) == 0 && len(errs) == 0 && len(l.files) > 0 {
		errs = append(errs, problem.Usage("PATH", "is missing, and the workflow file names no workflow of agents", "name directories, zip archives or state files"))
	}
	return paths, scopes, errors.Join(errs...)
}

// shownPath is the path of a workflow as findings have it.
func shownPath(s *scope.Scope, name string) string {
	if strings.HasPrefix(name, builtinPrefix) {
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
func openNamed(f *jobfile.File, u jobfile.Use) (*scope.Scope, error) {
	name := u.Input("workflow")
	if builtin, ok := strings.CutPrefix(name, builtinPrefix); ok {
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
	for _, dir := range []string{root, filepath.Join(root, u.Input("working-directory")), "."} {
		s, err := scope.Find(filepath.Join(dir, filepath.FromSlash(name)))
		if err == nil {
			return s, nil
		}
		first = cmp.Or(first, err)
	}
	return nil, first
}

// checkJobs checks one workflow against the workflow files.
func (l *Run) checkJobs(path string, s *scope.Scope) {
	if s == nil || len(l.files) == 0 {
		return
	}
	s.Load()
	if s.Workflow.Entry() == "" {
		return
	}
	c := handovers{Run: l, path: path, scope: s, flow: s.Workflow, chart: s.Workflow.Chart(), uses: usesOf(path, l.files)}
	c.checkRun()
	c.checkOrder()
	c.checkPrompts()
	c.checkWorkspace()
	c.checkRedispatch()
	c.checkTimes()
	c.checkKeys()
}

// use is a step that runs the workflow.
type use struct {
	jobfile.Use
	file *jobfile.File
}

// usesOf returns the steps that run the workflow at a path, or all of them when none names
// it: the file may know it by another path.
func usesOf(path string, files []*jobfile.File) []use {
	var fit, all []use
	abs, _ := filepath.Abs(path) // without a working directory nothing is named
	for _, f := range files {
		for _, u := range f.Uses() {
			if !slices.Contains([]string{"", "run"}, u.Input("mode")) {
				continue
			}
			all = append(all, use{u, f})
			if isNamed(abs, u) {
				fit = append(fit, use{u, f})
			}
		}
	}
	if len(fit) == 0 {
		return all
	}
	return fit
}

// isNamed reports whether a step names the workflow at an absolute path.
func isNamed(abs string, u jobfile.Use) bool {
	name := strings.TrimPrefix(filepath.ToSlash(filepath.Clean(filepath.FromSlash(u.Input("workflow")))), "./")
	if builtin, ok := strings.CutPrefix(name, builtinPrefix); ok {
		return filepath.Base(abs) == builtin || strings.HasSuffix(abs, name)
	}
	return u.IsOpen("workflow") || strings.HasSuffix("/"+strings.TrimPrefix(filepath.ToSlash(abs), "/"), "/"+strings.TrimPrefix(name, "/"))
}
