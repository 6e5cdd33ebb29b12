package runs

import (
	"cmp"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/scope"
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/protocol/lint"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/clis"
	"github.com/raymond-action/raymond-action/runner/prices"
	"github.com/raymond-action/raymond-action/state"
)

// LintFormats are the valid values of Lint.Format. The first one is the default.
var LintFormats = []string{"text", "json", "github"}

// Lint contains the options and the findings of one call of the lint command. It can be used only once.
type Lint struct {
	Format    string // an element of LintFormats; if empty, the default
	Platforms []protocol.Platform
	Meta      []string     // names of the template variables that runs get
	Backend   string       // the runs' agent CLI, an element of protocol.Backends; if empty, the default
	Prices    prices.Table // prices of models that runs use
	// JobFiles are the paths of GitHub workflow files whose steps are compared with the workflows.
	JobFiles []string
	Strict   bool // warnings count as errors

	jobs  []*lint.JobFile
	found []finding
	seen  map[finding]bool    // the elements of found
	lines map[string][][]rune // the lines of the files that have findings, by path
}

// finding is a finding as lint prints it.
type finding struct {
	File     string        `json:"file"` // the path, relative to the working directory or as the user named it
	Line     int           `json:"line"` // 0 if the finding is about the whole file or workflow
	Col      int           `json:"col"`
	Severity lint.Severity `json:"severity"`
	Code     string        `json:"code"`
	Message  string        `json:"message"`
	Hint     string        `json:"hint"`
}

// Check checks workflows and writes its findings to out. paths name the workflows; if paths is empty,
// Check uses the workflows that the steps in JobFiles name. It returns an error if there are findings of
// severity error. If problems is not nil, or a path can't be a workflow, Check returns an error and
// checks nothing.
func (l *Lint) Check(out io.Writer, paths []string, problems error) error {
	l.lines, l.seen = map[string][][]rune{}, map[finding]bool{}
	err := l.readJobFiles()
	flows, openErr := l.open(paths)
	if len(paths) == 0 && err == nil {
		flows, openErr = l.openFromSteps()
	}
	defer func() {
		for _, f := range flows {
			f.Close()
		}
	}()
	if err := errors.Join(problems, err, openErr); err != nil {
		return err
	}
	for _, f := range flows {
		l.check(f)
	}
	err = l.print(out)
	if l.count(lint.Error) > 0 {
		err = errors.Join(err, &problem.Problem{Class: problem.ClassWorkflow, Where: "lint", What: l.summary(), Hint: "fix the errors before a run"})
	}
	return err
}

// flow is a workflow to check.
type flow struct {
	*scope.Scope
	path string // the path as findings show it
}

// open opens the workflows at the paths. For an invalid zip archive it adds a finding. A path that can't
// be a workflow is an error of class usage.
func (l *Lint) open(paths []string) (flows []flow, err error) {
	var errs []error
	for _, path := range paths {
		s, err := scope.Find(path)
		for _, f := range problem.Flatten(err) {
			if f.Class != problem.ClassWorkflow {
				errs = append(errs, f)
				continue
			}
			l.add(finding{File: path, Severity: lint.Error, Code: "zip", Message: f.What, Hint: f.Hint})
		}
		if err == nil {
			flows = append(flows, flow{s, path})
		}
	}
	return flows, errors.Join(errs...)
}

// add adds a finding, unless it was added before. In strict mode, a warning becomes an error.
func (l *Lint) add(r finding) {
	if l.Strict && r.Severity == lint.Warning {
		r.Severity = lint.Error
	}
	if !l.seen[r] {
		l.seen[r] = true
		l.found = append(l.found, r)
	}
}

// check checks a workflow for each platform, looks for models without a price, and compares the workflow with
// the steps in GitHub workflow files that run it. It adds the findings to l.
func (l *Lint) check(f flow) {
	on := map[lint.Finding][]protocol.Platform{}
	var found []lint.Finding
	for _, p := range l.Platforms {
		o := lint.Options{LoadOptions: protocol.LoadOptions{Entry: f.Entry, Platform: p}, Meta: l.Meta, Backend: l.Backend}
		for _, one := range f.Lint(o) {
			if len(on[one]) == 0 {
				found = append(found, one)
			}
			on[one] = append(on[one], p)
		}
	}
	lint.Sort(found)
	for _, one := range found {
		if name := "on " + string(on[one][0]); len(on[one]) < len(l.Platforms) && !strings.Contains(one.Message, name) {
			one.Message += " (" + name + ")"
		}
		l.addToState(f, one)
	}
	f.Load()
	for _, b := range clis.Unpriced(f.Workflow, &state.Options{Backend: l.Backend}, l.Prices) {
		if b.Model != "" || b.Backend != cmp.Or(l.Backend, protocol.DefaultBackend) {
			l.addToState(f, lint.Finding{Severity: lint.Warning, Problem: protocol.Problem{
				File: cmp.Or(b.From, b.State), Pos: cmp.Or(b.Pos, protocol.Pos{Line: 1, Col: 1}), Code: "price",
				Message: runner.NoPrice(b.Backend, b.Model), Hint: runner.NoPriceHint,
			}})
		}
	}
	if len(l.jobs) == 0 || f.Workflow.Entry() == "" {
		return
	}
	abs, _ := filepath.Abs(f.path) // without a working directory, no step refers to it
	ofSteps, ofStates := lint.Jobs(abs, f.Workflow, l.jobs)
	for _, one := range slices.Concat(ofSteps, l.missingKeys(abs, f)) {
		l.add(findingOf(one))
	}
	for _, one := range ofStates {
		l.addToState(f, one)
	}
}

// findingOf converts a finding of package lint.
func findingOf(f lint.Finding) finding {
	return finding{File: f.File, Line: f.Pos.Line, Col: f.Pos.Col, Severity: f.Severity, Code: f.Code, Message: f.Message, Hint: f.Hint}
}

// addToState adds a finding about a state of the workflow f. If found names no file, the finding is about
// all of f.
func (l *Lint) addToState(f flow, found lint.Finding) {
	r := findingOf(found)
	if r.File = f.path; found.File != "" {
		dir := f.path
		if f.Entry != "" {
			dir = filepath.Dir(dir)
		}
		r.File = filepath.Join(dir, found.File)
		if _, known := l.lines[r.File]; !known {
			data, _ := protocol.ReadFile(f.FS, found.File) // for an unreadable or too large file, no line is shown
			l.lines[r.File] = linesOf(data)
		}
	}
	l.add(r)
}

// linesOf splits a file into lines, without a byte order mark and without line breaks.
func linesOf(data []byte) (lines [][]rune) {
	for line := range strings.SplitSeq(strings.TrimPrefix(string(data), "\ufeff"), "\n") {
		lines = append(lines, []rune(strings.TrimRight(line, "\r")))
	}
	return lines
}

// count returns the number of findings of a severity.
func (l *Lint) count(s lint.Severity) (n int) {
	for _, r := range l.found {
		if r.Severity == s {
			n++
		}
	}
	return n
}

// summary returns the number of findings of each severity as text.
func (l *Lint) summary() string {
	var parts []string
	for _, s := range []lint.Severity{lint.Error, lint.Warning, lint.Hint} {
		if n := l.count(s); n > 0 {
			parts = append(parts, state.Count(n, string(s)))
		}
	}
	return cmp.Or(strings.Join(parts, ", "), "no problems")
}
