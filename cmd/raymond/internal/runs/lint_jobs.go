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

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/options"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/scope"
	"github.com/raymond-action/raymond-action/examples"
	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/protocol/lint"
)

// maxJobFile is the maximum size of a GitHub workflow file, in bytes.
const maxJobFile = 1 << 20

// readJobFiles reads the GitHub workflow files and adds them to l.jobs. A file that can't be read is an
// error of class usage. For a file that is not a workflow file, it adds a finding.
func (l *Lint) readJobFiles() error {
	var errs []error
	for _, path := range l.JobFiles {
		text, err := files.ReadTarget(path, maxJobFile)
		if err != nil {
			errs = append(errs, problem.Usage("--workflow-file", fmt.Sprintf("%q: %v", problem.Shorten(path), err), "name a workflow file of GitHub Actions"))
			continue
		}
		l.lines[path] = linesOf(text)
		f, err := lint.ReadJobFile(path, text)
		if err != nil {
			l.add(finding{File: path, Severity: lint.Error, Code: "workflow-file", Message: "is not a GitHub workflow file: " + err.Error()})
			continue
		}
		l.jobs = append(l.jobs, f)
		l.checkInputs(f)
	}
	return errors.Join(errs...)
}

// checkInputs checks the inputs of each step as the job would. It can't check inputs with expressions
// except args, which may not contain any, and doesn't read the price file that the input prices names.
func (l *Lint) checkInputs(f *lint.JobFile) {
	for _, s := range f.Steps {
		if !s.IsAction() {
			continue
		}
		var environ []string
		given := map[string]string{}
		for _, name := range s.Inputs() {
			variable := job.InputVariable(name)
			given[variable] = s.Input(name)
			environ = append(environ, variable+"="+s.Input(name))
		}
		getenv := func(name string) string { return given[name] }
		_, bad := job.ReadSettings(getenv)
		args := slices.DeleteFunc(job.Arguments(getenv), func(arg string) bool { return strings.HasPrefix(arg, "--prices=") })
		o, err := options.ReadJob(args, job.FlagLabel)
		errs := []error{err, o.Check()}
		for _, b := range append(bad, job.UnknownInputs(environ)...) {
			errs = append(errs, b.Usage())
		}
		for _, p := range problem.Flatten(errors.Join(errs...)) {
			name, _, _ := strings.Cut(strings.TrimPrefix(p.Where, "input "), ":")
			if name == "args" || !s.HasExpression(name) {
				at := s.Pos(name)
				l.add(finding{File: f.Path, Line: at.Line, Col: at.Col, Severity: lint.Error, Code: "input", Message: p.Where + ": " + p.What, Hint: p.Hint})
			}
		}
	}
}

// missingKeys finds steps that set no key for the API of an agent CLI that the workflow f certainly
// needs. It skips steps that may get a key in a way that the files don't show.
func (l *Lint) missingKeys(abs string, f flow) (found []lint.Finding) {
	for _, s := range lint.StepsOf(abs, l.jobs) {
		isOther := s.CallsWorkflow || s.RefusesPrompts() || s.HasExpression("agent") || s.HasExpression("job") || strings.Contains(s.RunsOn, "self-hosted")
		if isOther || s.Input("env") != "" || s.Input("claude-args") != "" || s.Input("agent-command") != "" {
			continue
		}
		for _, backend := range f.SurelyNeededCLIs(s.Input("agent"), strings.Split(cmp.Or(s.Input("job"), protocol.MainJob), ",")) {
			inputs := job.APIKeyInputs(backend)
			isGiven := func(name string) bool { return s.Input(name) != "" }
			if len(inputs) == 0 || slices.ContainsFunc(inputs, isGiven) || job.HasProvider(backend, s.Env) {
				continue
			}
			severity, runner := lint.Warning, strings.Split(s.RunsOn, "-")[0]
			if slices.Contains([]string{"ubuntu", "macos", "windows"}, runner) && s.RunsOn != runner { // on GitHub-hosted runners, no agent CLI is logged in
				severity = lint.Error
			}
			p := protocol.Problem{File: s.File(), Pos: s.Pos(inputs[0]), Code: "no-key", Message: "the step has no key for the agent " + backend + ", which runs prompts of the workflow",
				Hint: "set " + strings.Join(inputs, " or ") + " from a secret"}
			found = append(found, lint.Finding{Severity: severity, Problem: p})
		}
	}
	return found
}

// openFromSteps opens the workflows that steps of the GitHub workflow files name. Names with expressions
// are skipped. It is used if the lint command gets no paths.
func (l *Lint) openFromSteps() (flows []flow, err error) {
	var errs []error
	var seen []string
	wd, _ := os.Getwd() // findings show paths below the working directory relative to it; if this fails, they show absolute paths
	for _, f := range l.jobs {
		for _, step := range f.RaymondSteps() {
			name := step.Input("workflow")
			if step.HasExpression("workflow") || slices.Contains(seen, name) {
				continue
			}
			seen = append(seen, name)
			s, err := openNamed(f, step)
			if err != nil {
				errs = append(errs, problem.Usage("PATH", fmt.Sprintf("is missing, and %s names %q, which is not found", f.Path, problem.Shorten(name)), "name the folder, archive or state file"))
				continue
			}
			path := s.Path
			if rel, err := filepath.Rel(wd, path); strings.HasPrefix(name, lint.BuiltinPrefix) {
				path = name
			} else if err == nil && filepath.IsLocal(rel) {
				path = rel
			}
			flows = append(flows, flow{s, path})
		}
	}
	if len(flows) == 0 && len(errs) == 0 && len(l.jobs) > 0 && l.count(lint.Error) == 0 {
		errs = append(errs, problem.Usage("PATH", "is missing, and the workflow file names no workflow of agents", "name directories, zip archives or state files"))
	}
	return flows, errors.Join(errs...)
}

// openNamed opens the workflow that a step names. It looks for the workflow in the repository of the
// workflow file, in the step's working-directory, and in the current working directory.
func openNamed(f *lint.JobFile, step lint.Step) (*scope.Scope, error) {
	name := step.Input("workflow")
	if builtin, ok := strings.CutPrefix(name, lint.BuiltinPrefix); ok {
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
