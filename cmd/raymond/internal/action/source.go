package action

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/artifacts/workspace"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/scope"
	"github.com/raymond-action/raymond-action/examples"
	"github.com/raymond-action/raymond-action/internal/cage"
)

// builtinPrefix is the prefix of an input workflow that names an example. The program contains the
// examples, so that a repository needs only one workflow file, and their states are as trusted as
// the program.
const builtinPrefix = "builtin:"

// isBuiltin reports whether the workflow comes with the program.
func isBuiltin(workflow string) bool { return strings.HasPrefix(workflow, builtinPrefix) }

// source is the location from which the workflow is read.
type source struct {
	path  string
	place string // its path in the repository, if path is a copy of it; "" otherwise
}

// flow is an open workflow with its source.
type flow struct {
	*scope.Scope
	source source
}

// openFlow opens the workflow of a source. It refuses a workflow whose agents are certain to have
// no credentials.
func openFlow(s *step, from source) (*flow, error) {
	files, err := scope.Open(from.path)
	if err != nil {
		return nil, err
	}
	s.log.spareStates(files.Workflow.Names())
	err = files.StartError
	if err == nil {
		err = errors.Join(checkCredentials(s.env, s.in, s.options, files), checkHeld(s, files))
	}
	if err != nil {
		files.Close()
		return nil, err
	}
	return &flow{files, from}, nil
}

// fileOf returns the path of a state's file in the repository, or "" if it is not in the
// repository.
func (f *flow) fileOf(top, name string) string {
	st, ok := f.Workflow.State(name)
	rel, err := f.source.place, error(nil)
	if rel == "" {
		rel, err = filepath.Rel(top, f.Path)
	}
	if !ok || err != nil || !filepath.IsLocal(rel) || strings.EqualFold(filepath.Ext(rel), ".zip") {
		return ""
	}
	if f.Entry != "" {
		rel = filepath.Dir(rel)
	}
	return path.Join(filepath.ToSlash(rel), st.Name)
}

// findSource finds the workflow among the examples of the action, in the workspace, or in the
// working directory.
func findSource(dirs folders, name string, log *jobLog) (source, error) {
	if name == "" {
		return source{}, nil // reported already
	}
	if isBuiltin(name) {
		return unpackBuiltin(dirs, name, log)
	}
	for _, dir := range []string{dirs.top, dirs.work} {
		if _, err := os.Stat(within(dir, name)); err == nil {
			path, err := dirs.named("workflow", dir, name)
			return source{path: path}, err
		}
	}
	return source{}, problem.Usage("input workflow", fmt.Sprintf("%q: there is no such file or directory", name),
		"name a directory, a zip archive or a state file of the workspace, and check out the repository first")
}

// unpackBuiltin unpacks an example. Users don't know the path of the copy, so the log shows the
// name from the input instead.
func unpackBuiltin(dirs folders, workflow string, log *jobLog) (source, error) {
	name := strings.TrimPrefix(workflow, builtinPrefix)
	names, _ := fs.Glob(examples.Files, "*")
	if !slices.Contains(names, name) {
		return source{}, problem.Usage("input workflow", fmt.Sprintf("%q: the action has no such workflow", workflow), "it has "+strings.Join(names, ", "))
	}
	files, _ := fs.Sub(examples.Files, name)
	path := filepath.Join(dirs.own, "builtin", name)
	if err := errors.Join(os.RemoveAll(path), os.CopyFS(path, files)); err != nil {
		return source{}, problem.OfMachine("input workflow", err)
	}
	log.rename(path, workflow)
	return source{path: path}, nil
}

// trustedSource returns where the states are read from: the source itself or, if the checkout is
// not trusted, the workflow's own commit. It refuses a file of prices in an untrusted checkout.
func trustedSource(ctx context.Context, s *step, p prepared) (source, error) {
	from := p.source
	if p.isTrusted {
		return from, nil
	}
	file := job.InputValue(s.env.Getenv, "prices")
	if file != "" && cage.IsWithin(cage.Resolve(within(s.dirs.top, file)), cage.Resolve(s.dirs.top)) {
		return from, &problem.Problem{Class: problem.ClassDenied, Where: "input prices", What: "the checkout isn't trusted and contains the file",
			Hint: "check out the workflow's own ref, name a file outside of the checkout, or set trust-checkout: true"}
	}
	if isBuiltin(s.in.Workflow) {
		return from, nil
	}
	return committedSource(ctx, s, from)
}

// committedSource returns a copy of the source from the workflow's own commit, because states of an
// untrusted checkout must not run.
func committedSource(ctx context.Context, s *step, from source) (source, error) {
	deny := func(what string) error {
		return &problem.Problem{Class: problem.ClassDenied, Where: "input workflow", What: "the checkout isn't trusted, and " + what,
			Hint: "check out the workflow's own ref, or set trust-checkout: true"}
	}
	rel, err := filepath.Rel(s.dirs.top, from.path)
	if err != nil || !filepath.IsLocal(rel) {
		return from, deny("the workflow is not in the workspace")
	}
	commit := cmp.Or(s.env.Getenv("GITHUB_WORKFLOW_SHA"), s.env.Getenv("GITHUB_SHA")) // the commit of the workflow's own ref, which started the job
	dir := filepath.Join(s.dirs.own, "source")
	part := workspace.CommitPath{Dir: s.dirs.top, Commit: commit, Name: rel}
	if err := errors.Join(os.RemoveAll(dir), s.git.Extract(ctx, part, dir)); err != nil {
		return from, deny(fmt.Sprintf("the states can't be read from commit %q: %v", commit, err))
	}
	return source{path: filepath.Join(dir, rel), place: rel}, nil
}
