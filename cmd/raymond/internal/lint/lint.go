// Package lint prints what is wrong with workflows, for people, programs or
// GitHub.
package lint

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/jobfile"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/scope"
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner/agents"
	"github.com/raymond-action/raymond-action/runner/prices"
)

// Formats are the values that Run.Format may have; the first is the default.
var Formats = []string{"text", "json", "github"}

// Run is one call of lint. It is used once.
type Run struct {
	Format    string // one of Formats
	Platforms []protocol.Platform
	Meta      []string    // template variables that runs are given
	Backend   string      // the agent CLI of runs, one of protocol.Backends; "" for the default
	Prices    prices.Book // that hold for runs
	// WorkflowFiles are workflow files of GitHub Actions, with whose steps the workflows
	// are compared.
	WorkflowFiles []string

	files []*jobfile.File
	found []remark
	lines map[string][]string // the lines of the files with remarks, by path
}

// remark is a finding as lint prints it.
type remark struct {
	File     string            `json:"file"` // as the editor finds it
	Line     int               `json:"line"` // 0: the workflow as a whole
	Col      int               `json:"col"`
	Severity protocol.Severity `json:"severity"`
	Code     string            `json:"code"`
	Message  string            `json:"message"`
	Hint     string            `json:"hint"`
}

// New returns a run for this platform.
func New() *Run {
	return &Run{Format: Formats[0], Platforms: []protocol.Platform{scope.Platform()}, lines: map[string][]string{}}
}

// Check checks the workflows that the paths name, or without one those that the workflow
// files name, and writes what it finds. Its error
// says that there is something to fix. Nothing is checked when there are problems
// with the call already, or with a path.
func (l *Run) Check(out io.Writer, paths []string, problems error) error {
	err := l.readJobFiles()
	scopes, openErr := l.open(paths)
	if len(paths) == 0 && err == nil {
		paths, scopes, openErr = l.named()
	}
	defer closeAll(scopes)
	if err := errors.Join(problems, err, openErr); err != nil {
		return err
	}
	for i, s := range scopes {
		l.check(paths[i], s)
		l.checkPrices(paths[i], s)
		l.checkJobs(paths[i], s)
	}
	return errors.Join(l.print(out), l.verdict())
}

// open opens what the paths name, a nil scope for an archive that is no workflow.
// What can't be one is an error of class usage.
func (l *Run) open(paths []string) ([]*scope.Scope, error) {
	var scopes []*scope.Scope
	var errs []error
	for _, path := range paths {
		s, err := scope.Find(path)
		for _, f := range problem.All(err) {
			if f.Class != problem.ClassWorkflow {
				errs = append(errs, f)
				continue
			}
			l.add(remark{File: path, Severity: protocol.SeverityError, Code: "zip", Message: f.What, Hint: f.Hint})
		}
		scopes = append(scopes, s)
	}
	return scopes, errors.Join(errs...)
}

func closeAll(scopes []*scope.Scope) {
	for _, s := range scopes {
		if s != nil {
			s.Close()
		}
	}
}

func (l *Run) add(r remark) {
	if !slices.Contains(l.found, r) {
		l.found = append(l.found, r)
	}
}

// check lints one workflow for each platform.
func (l *Run) check(path string, s *scope.Scope) {
	if s == nil {
		return
	}
	on := map[protocol.Finding][]protocol.Platform{}
	var found []protocol.Finding
	for _, p := range l.Platforms {
		o := protocol.LintOptions{LoadOptions: protocol.LoadOptions{Entry: s.Entry, Platform: p}, Meta: l.Meta, Backend: l.Backend, CantBranch: agents.CantBranch()}
		for _, f := range s.Lint(o) {
			if len(on[f]) == 0 {
				found = append(found, f)
			}
			on[f] = append(on[f], p)
		}
	}
	protocol.SortFindings(found)
	for _, f := range found {
		if len(on[f]) < len(l.Platforms) {
			f.Message += where(f.Message, on[f][0])
		}
		l.add(l.remark(path, s, f))
	}
}

// where says that a finding holds on one platform only, unless it says so.
func where(message string, p protocol.Platform) string {
	if strings.Contains(message, "on "+string(p)) {
		return ""
	}
	return " (on " + string(p) + ")"
}

func (l *Run) remark(path string, s *scope.Scope, f protocol.Finding) remark {
	r := remark{File: path, Line: f.Pos.Line, Col: f.Pos.Col, Severity: f.Severity, Code: f.Code, Message: f.Message, Hint: f.Hint}
	if f.File == "" {
		return r
	}
	if s.Entry != "" {
		path = filepath.Dir(path)
	}
	r.File = filepath.Join(path, f.File)
	if _, known := l.lines[r.File]; !known {
		l.lines[r.File] = linesOf(s.FS, f.File)
	}
	return r
}

// maxExcerpted bounds a file of which lines are shown, in bytes.
const maxExcerpted = 10 << 20

// linesOf returns the lines of a file, none when it can't be read.
func linesOf(fsys fs.FS, name string) []string {
	info, err := fs.Stat(fsys, name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxExcerpted {
		return nil
	}
	data, err := fs.ReadFile(fsys, name)
	if err != nil {
		return nil
	}
	return strings.Split(strings.TrimPrefix(string(data), "\ufeff"), "\n")
}

// verdict is the error of a lint that found some.
func (l *Run) verdict() error {
	if l.count(protocol.SeverityError) == 0 {
		return nil
	}
	return &problem.Problem{Class: problem.ClassWorkflow, Where: "lint", What: l.summary(), Hint: "fix the errors before a run"}
}

func (l *Run) count(s protocol.Severity) int {
	n := 0
	for _, r := range l.found {
		if r.Severity == s {
			n++
		}
	}
	return n
}

// summary counts the remarks. It names no severity of which there is none.
func (l *Run) summary() string {
	var parts []string
	for _, s := range []protocol.Severity{protocol.SeverityError, protocol.SeverityWarning, protocol.SeverityHint} {
		n := l.count(s)
		switch {
		case n == 1:
			parts = append(parts, "1 "+string(s))
		case n > 1:
			parts = append(parts, fmt.Sprintf("%d %ss", n, s))
		}
	}
	if len(parts) == 0 {
		return "no problems"
	}
	return strings.Join(parts, ", ")
}
